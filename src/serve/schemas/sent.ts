import * as z from 'zod'
import type { Plan } from '../../ask/preview/preview.ts'
import type { Drift } from '../../core/reconcile/decide/drift.ts'
import type { Conflict } from '../../core/reconcile/decide/operation.ts'
import type { FollowedStep, Handled } from '../../core/reconcile/outcome.ts'
import type { ApplicationStatus } from '../../core/units/report.ts'
import { announcementData, announcementType } from '../../features/services/service-announcements.ts'
import { CONDITION_TYPES, type Condition, REASONS } from '../../platform/base/condition.ts'
import { REPLY_TYPES } from './reply-types.ts'

/** A schema for each key of a type, so that neither can have a key that the other lacks. */
export type KeysOf<T> = Record<T extends unknown ? keyof T : never, z.ZodType>

const text = z.string()
const texts = z.array(text)
const any = z.array(z.record(text, z.unknown()))

const subject = { namespace: text, application: text }
const status = z.enum(['changed', 'saved', 'unchanged', 'stale', 'conflict', 'waiting'])

const conflict: KeysOf<Conflict> = {
  ...{ object: text, manager: text },
  ...{ key: text.optional(), value: text.optional(), wanted: text.optional() },
}
const drift: KeysOf<Drift> = {
  ...{ object: text, label: text.optional(), field: text.optional() },
  ...{ was: text.optional(), is: text.optional() },
}
export const condition: KeysOf<Condition> = {
  ...{ type: z.enum(CONDITION_TYPES), status: z.literal('True'), reason: z.enum(REASONS), object: text },
  ...{ for: texts.optional(), since: text.optional(), message: text },
}
const applicationStatus: KeysOf<ApplicationStatus> = { status: text, message: text, since: text.optional() }

const step = {
  ...{ status, written: texts, removed: texts.optional() },
  ...{ conflicts: z.array(z.object(conflict)), messages: texts, drift: z.array(z.object(drift)).optional() },
}
const followed: KeysOf<FollowedStep> = { ...subject, ...step }

const reconciled: KeysOf<Handled> = {
  function: text.optional(),
  ...{ namespace: text.optional(), application: text.optional() },
  ...step,
  published: texts.optional(),
  conditions: z.array(z.object(condition)).optional(),
  applicationStatus: z.object(applicationStatus).optional(),
  effects: z.array(z.object(followed)).optional(),
}

export const planned: KeysOf<Plan> = {
  ...{ steps: any, outcomes: any, objects: any, access: any, expectations: any },
  ...{ incomplete: texts, messages: texts },
}

export type Sent = { readonly name: string; readonly type: string; readonly schema: z.ZodType }

/** The answers to events. */
export const replies: readonly Sent[] = [
  { name: 'reconciled', type: REPLY_TYPES.reconciled, schema: z.object(reconciled) },
  { name: 'planned', type: REPLY_TYPES.planned, schema: z.object(planned) },
]

/** Events that go to `K_SINK` and are for others than the functions. */
export const announced: readonly Sent[] = Object.entries(announcementData).map(([name, data]) => ({
  name,
  type: announcementType(name as keyof typeof announcementData),
  schema: z.object({ ...subject, ...data }),
}))

/** The functions whose events go to `K_SINK`, from one application to another. */
export const NUDGES = ['relation-changed', 'relation-broken', 'resync']
