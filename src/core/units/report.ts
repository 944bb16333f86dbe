import * as z from 'zod'

const STATUSES = ['error', 'blocked', 'maintenance', 'waiting', 'active'] as const

/** Juju's statuses, the worse before the better. */
export const WorkloadStatus = z.enum(STATUSES, `expected a status, one of ${STATUSES.join(' ')}`)
export type WorkloadStatus = z.infer<typeof WorkloadStatus>

export const LONGEST_MESSAGE = 200

/** The status that a unit reports. */
export const Report = z.strictObject({
  status: WorkloadStatus,
  message: z.string().max(LONGEST_MESSAGE, `expected at most ${LONGEST_MESSAGE} characters`),
})
export type Report = z.infer<typeof Report>

/** Ranks a status by severity, 0 being the worst. */
export const statusRank = (status: WorkloadStatus): number => STATUSES.indexOf(status)
/** The status of an application, as Juju has it; the message of an active one may be empty. `since` (RFC 3339) is when a wait began. */
export type ApplicationStatus = {
  readonly status: WorkloadStatus
  readonly message: string
  readonly since?: string | undefined
}
