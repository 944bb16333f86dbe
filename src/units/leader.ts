import * as z from 'zod'
import { findUnitNumber, hasLeft, isDeparted, isPresent, type Units, unitName } from './units.ts'

/** The Lease that a leader holds. One that was made anew has another uid, and counts its holders from 0 again. */
export const Lease = z.strictObject({ uid: z.string().min(1).max(128), created: z.string().max(64).optional() })

/** A unit that leads, or says that it does, in an epoch that only grows. */
export const Leader = z.strictObject({
  unit: z.string().min(1).max(253),
  epoch: z.int().nonnegative().optional(),
  lease: Lease.optional(),
})
export type Leader = z.infer<typeof Leader>

/** Who sends application data; by the uid of its pod, where that is told, a unit is not taken for its successor of the same number. */
export type Claim = Leader & { readonly uid?: string | undefined }

/** What is remembered of an application's leader, and of its units. */
export type Leadership = {
  readonly application: string
  readonly leader?: Leader | undefined
  readonly units: Units
}

/** Application data that no leader has made its own yet. With an epoch it is only its unit's to do, leading in that epoch or later. */
export type Pending<T> = Leader & { readonly data: T }

/** Whether application data counts: now, or once there is a leader for it, or why it never will. */
export type Authority = 'now' | { readonly pending: Leader } | { readonly refused: string }

/**
 * The leader, as long as its unit is there: an election takes a while, and in between there is none; a unit that was not seen yet is waited
 * for. Where nobody was ever elected, a unit that is alone leads.
 */
export const currentLeader = ({ application, leader, units }: Leadership): Leader | undefined => {
  if (leader !== undefined) return isPresent(units, application, leader.unit) ? leader : undefined
  const [first, ...others] = Object.values(units.present)
  return first !== undefined && others.length === 0 ? { unit: unitName(application, first.number) } : undefined
}

/** Two epochs that are further apart are not of one count: it began anew, or one of them is wrong. */
const FARTHEST = 1_000

const isBefore = (epoch: number | undefined, other: number | undefined): boolean =>
  epoch !== undefined && other !== undefined && epoch < other && other - epoch <= FARTHEST

/**
 * Whether `elected` leads after `leader`: by their epochs where these are of one count, by age where the Lease was made anew; undefined where
 * the order of the events decides. An epoch of no Lease locks nobody out once the unit that led in it is gone.
 */
export const isLaterElection = ({ application, leader, units }: Leadership, elected: Leader): boolean | undefined => {
  if (leader === undefined) return undefined
  const [before, lease] = [leader.lease, elected.lease]
  if (before?.uid !== lease?.uid) return isYounger(lease?.created, before?.created)
  if (isBefore(leader.epoch, elected.epoch)) return true
  if (!isBefore(elected.epoch, leader.epoch)) return undefined
  return lease !== undefined || isPresent(units, application, leader.unit) ? false : undefined
}

const isYounger = (created: string | undefined, before: string | undefined): boolean | undefined => {
  const difference = Date.parse(created ?? '') - Date.parse(before ?? '')
  return Number.isNaN(difference) || difference === 0 ? undefined : difference > 0
}

/**
 * Whether application data that a unit sends counts. The leader's does. Of another unit it is refused, as it is of a deposed leader and of
 * a unit that is gone. Without a leader it waits for the next one; so does what comes from a later epoch than is known here, whose
 * election may only be late.
 */
export const checkAuthority = (leadership: Leadership, claim: Claim): Authority => {
  const { application, leader, units } = leadership
  const { unit, epoch, uid } = claim
  const current = currentLeader(leadership)
  const led = current === undefined ? `${application} has no leader` : `the leader of ${application} is ${current.unit}`
  // a pod that is not known yet may be the next one of a unit that comes back
  const isGone = uid === undefined ? hasLeft(units, application, unit) : isDeparted(units, uid)
  if (isGone) return { refused: `${unit} is gone: ${led}` }
  if (isBefore(epoch, leader?.epoch))
    return { refused: `${unit} led in epoch ${epoch}, it is epoch ${leader?.epoch} now: ${led}` }
  if (current === undefined) return { pending: { unit } }
  if (isSameUnit(leadership, unit, current.unit)) return 'now'
  if (isBefore(current.epoch, epoch)) return { pending: { unit, epoch } }
  return { refused: `${unit} does not lead: ${led}` }
}

/** Of two that wait, the one of the later epoch, else the one that came last. */
export const laterPending = <T>(before: Pending<T> | undefined, next: Pending<T>): Pending<T> =>
  isBefore(next.epoch, before?.epoch) && before !== undefined ? before : next

/** What waits: its data once it is due, itself while it is not, or why it never will be. */
export type Resolution<T> = { readonly due: T } | { readonly pending: Pending<T> } | { readonly refused: string }

/** Looks at what waits for a leader, whenever the leader or the units may have changed: no other event is needed for it to be done. */
export const resolvePending = <T>(leadership: Leadership, pending: Pending<T>): Resolution<T> => {
  const { application, units } = leadership
  const { unit, epoch, data } = pending
  const current = currentLeader(leadership)
  if (epoch !== undefined && hasLeft(units, application, unit)) return { refused: `${unit} is gone` }
  if (current === undefined || isBefore(current.epoch, epoch)) return { pending }
  if (epoch === undefined || isSameUnit(leadership, unit, current.unit)) return { due: data }
  return { refused: `${unit} does not lead: the leader of ${application} is ${current.unit}` }
}

const isSameUnit = ({ application, units }: Leadership, one: string, other: string): boolean => {
  const number = findUnitNumber(units, application, one)
  return one === other || (number !== undefined && number === findUnitNumber(units, application, other))
}
