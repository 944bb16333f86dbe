import type { Condition } from '../../platform/base/condition.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { memoryObject } from '../state/memory.ts'
import type { ApplicationStatus } from '../units/report.ts'
import type { ChangeResult } from './change.ts'
import type { Drift } from './decide/drift.ts'
import type { Conflict } from './decide/operation.ts'
import type { Reconciled } from './record.ts'

/**
 * The status of a step. `changed`: objects besides the memory were written. `saved`: only the memory was, with something that was told.
 * `unchanged`: nothing that was told changed. `conflict`: another manager holds something desired; the rest was done. `waiting`: something waits,
 * or is refused; the rest was done. `stale`: a later event overtook this one.
 */
export type Status = 'changed' | 'saved' | 'unchanged' | 'stale' | 'conflict' | 'waiting'

/** Tells if a step completed and wrote nothing but its memory. */
export const isWithinMemory = (status: Status): boolean => status === 'saved' || status === 'unchanged'

/** The data of a `dev.meshstep.reconciled.v1` event, without the application. */
export type Outcome = {
  status: Status
  /** Names of the written objects, including the memory. */
  written: readonly string[]
  /** The deleted ones among the written objects. Absent if there are none. */
  removed?: readonly string[]
  /** The messages to remote applications: `relation 7 (service-mesh) to shop/beacon`. */
  published?: readonly string[]
  /** The first 20. A message gives the number of the others. The same holds for messages. */
  conflicts: readonly Conflict[]
  /** Messages for people, a sentence each. */
  messages: readonly string[]
  /** Everything that is open at the application. Absent if nothing is. The first 20. */
  conditions?: readonly Condition[]
  /** The differences from the desired state that a resync found and repaired. The first 20. */
  drift?: readonly Drift[]
  /** The application's own status. Absent if it is active or removed, and has no message. */
  applicationStatus?: ApplicationStatus
  /** The steps of other applications that followed. Absent if there are none. */
  effects?: readonly FollowedStep[]
}

/** The outcome of an event without work. */
export const UNCHANGED: Outcome = { status: 'unchanged', written: [], conflicts: [], messages: [] }

/** A step that another step caused. */
export type FollowedStep = Subject &
  Pick<Outcome, 'status' | 'written' | 'removed' | 'conflicts' | 'messages' | 'drift'>

type Done = Omit<Reconciled, 'state' | 'application'> & {
  written: readonly string[]
  removed: readonly string[]
  drift: readonly Drift[]
  application?: ApplicationStatus
}

const NOTHING: Done = { written: [], removed: [], drift: [], conflicts: [], held: [], conditions: [], messages: [] }

/** Computes the outcome of one event from its step. Several events may share one step. */
export const outcomeOf = (subject: Subject, taken: ChangeResult, done: Done = NOTHING): Outcome | Error => {
  if (taken instanceof Error) return taken
  const { stale, message, isNews = false, lacksRoom = false } = taken
  const held = done.held.map((one) => one.message)
  const messages = [stale, message, ...held, ...done.messages].filter((text) => text !== undefined)
  return {
    status: stale ? 'stale' : statusOf(subject, done, { isNews, lacksRoom }),
    written: done.written,
    ...(done.removed.length > 0 && { removed: done.removed }),
    conflicts: done.conflicts.slice(0, MOST),
    messages: [...first(messages, 'messages'), ...rest(done.conflicts, 'conflicts'), ...rest(done.drift, 'drifts')],
    ...(done.conditions.length > 0 && { conditions: done.conditions.slice(0, MOST) }),
    ...(done.drift.length > 0 && { drift: done.drift.slice(0, MOST) }),
    ...(done.application && isTelling(done.application) && { applicationStatus: done.application }),
  }
}

/** A message that its receiver refused, with the reason. */
export type RefusedMessage = { readonly name: string; readonly reason: string }

/** The result of a delivery: published and refused messages, and the steps that followed, in order of completion. */
export type Delivered = { published: string[]; refused: RefusedMessage[]; effects: FollowedStep[] }

/** Adds the delivery to an outcome. The status becomes `waiting` if a receiver refused its message. */
export const withDelivered = <T extends Outcome>(outcome: T, { published, refused, effects }: Delivered): T => {
  const isDone = outcome.status === 'changed' || isWithinMemory(outcome.status)
  // the step itself reports memories that cannot be read
  const unsaid = refused.filter(({ reason }) => !outcome.messages.some((text) => text.includes(reason)))
  return {
    ...outcome,
    ...(published.length > 0 && { published: first(published, 'publications') }),
    ...(effects.length > 0 && { effects: effects.slice(0, MOST) }),
    ...(refused.length > 0 && isDone && { status: 'waiting' }),
    messages: [...outcome.messages, ...first(unsaid.map(printRefused), 'publications'), ...rest(effects, 'steps')],
  }
}

/** Tells if an outcome has nothing to report: nothing changed, and the application is active. */
export const isSilent = ({ status, messages, applicationStatus }: Outcome): boolean =>
  status === 'unchanged' && messages.length === 0 && applicationStatus === undefined

const printRefused = ({ name, reason }: RefusedMessage): string => `${name}: ${reason}`

/** Tells if a status is worth reporting: any but a plain `active` or `removed`. */
const isTelling = ({ status, message }: ApplicationStatus): boolean =>
  !['active', 'removed'].includes(status) || message !== ''

/** The limit of list entries in an outcome, which travels through brokers and logs. */
const MOST = 20

const first = (texts: readonly string[], what: string): string[] => [
  ...texts.slice(0, MOST).map(shortened),
  ...rest(texts, what),
]

const LONGEST_MESSAGE = 1_000

const shortened = (text: string): string =>
  text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text

const rest = ({ length }: readonly unknown[], what: string): string[] =>
  length > MOST ? [`and ${length - MOST} more ${what}`] : []

const statusOf = (
  subject: Subject,
  { conflicts, held, written }: Done,
  { isNews, lacksRoom }: { readonly isNews: boolean; readonly lacksRoom: boolean },
): Status => {
  if (conflicts.length > 0) return 'conflict'
  if (held.length > 0 || lacksRoom) return 'waiting'
  if (written.some((name) => name !== memoryObject(subject))) return 'changed'
  return isNews && written.length > 0 ? 'saved' : 'unchanged'
}

/** The result of an event: the data of a `dev.meshstep.reconciled.v1`. The names are absent if the event names none. */
export type Handled = { function?: string; namespace?: string; application?: string } & Outcome
