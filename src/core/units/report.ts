import * as z from 'zod'
import { CONDITION_TYPES, type Condition } from '../../platform/base/condition.ts'
import { defined } from '../../platform/base/own-value.ts'

const STATUSES = ['error', 'blocked', 'maintenance', 'waiting', 'active'] as const

/** Juju's statuses, from worst to best. */
export const WorkloadStatus = z.enum(STATUSES, `expected a status, one of ${STATUSES.join(' ')}`)
export type WorkloadStatus = z.infer<typeof WorkloadStatus>

export const LONGEST_MESSAGE = 200

/** The status that a unit reports. */
export const Report = z.strictObject({
  status: WorkloadStatus,
  message: z.string().max(LONGEST_MESSAGE, `expected at most ${LONGEST_MESSAGE} characters`),
})
export type Report = z.infer<typeof Report>

/**
 * The status of an application, in Juju's terms, or `removed`. An active or a removed one may have an empty message. `since` (RFC 3339) is the
 * beginning of a wait.
 */
export type ApplicationStatus = {
  readonly status: WorkloadStatus | 'removed'
  readonly message: string
  readonly since?: string | undefined
}

/** Returns the type of the condition that a status stands for. Undefined for a good one. */
export const typeOf = (status: ApplicationStatus['status']): Condition['type'] | undefined =>
  CONDITION_TYPES.find((type) => type.toLowerCase() === status)

/**
 * Returns the status of an application: that of its worst condition, of equal ones of the first. Without conditions it is `good`, with the message of a unit.
 * A removed application stays `removed`.
 */
export const statusBy = (
  conditions: readonly Condition[],
  good: 'active' | 'removed',
  { message }: Pick<ApplicationStatus, 'message'> = { message: '' },
): ApplicationStatus => {
  const worst = CONDITION_TYPES.find((type) => conditions.some((one) => one.type === type))
  const [first, ...others] = conditions.filter(({ type }) => type === worst)
  if (first === undefined) return { status: good, message }
  const told = others.length === 0 ? first.message : `${first.message} (and ${others.length} more)`
  return good === 'removed'
    ? { status: good, message: told }
    : { status: first.type.toLowerCase() as WorkloadStatus, message: told, ...defined({ since: first.since }) }
}
