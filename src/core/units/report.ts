import * as z from 'zod'

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

const RANKS: readonly ApplicationStatus['status'][] = [...STATUSES, 'removed']

/** Ranks a status by severity, 0 being the worst. */
export const statusRank = (status: ApplicationStatus['status']): number => RANKS.indexOf(status)
