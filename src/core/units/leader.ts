import * as z from 'zod'
import { findUnitNumber, hasLeft, isDeparted, isPresent, type Units, unitName } from './units.ts'

/** The Lease of a leader. A recreated one has another uid, and counts its holders from 0 again. */
export const Lease = z.strictObject({ uid: z.string().min(1).max(128), created: z.string().max(64).optional() })

/** A unit that leads or claims to, in an epoch. Epochs only grow. */
export const Leader = z.strictObject({
  unit: z.string().min(1).max(253),
  epoch: z.int().nonnegative().optional(),
  lease: Lease.optional(),
})
export type Leader = z.infer<typeof Leader>

/** The sender of application data. The uid of its pod distinguishes a unit from its successor with the same number. */
export type SendingUnit = Leader & { readonly uid?: string | undefined }

/** The leader and the units of an application. */
export type Leadership = {
  readonly application: string
  readonly leader?: Leader | undefined
  readonly units: Units
}

/**
 * Application data of a unit that does not lead yet. They take effect once that unit leads; with an epoch, in that epoch or a later one.
 */
export type Pending<T> = Leader & { readonly data: T }

/** The decision on application data: accepted now, waiting for a leader, or refused. */
export type Authority = 'now' | { readonly pending: Leader } | { readonly refused: string }

/**
 * Returns the leader while its unit is present. During an election there is no leader. A unit that has not been seen yet counts as present.
 * Without any election, a unit that is alone leads.
 */
export const currentLeader = ({ application, leader, units }: Leadership): Leader | undefined => {
  if (leader !== undefined) return isPresent(units, application, leader.unit) ? leader : undefined
  const [first, ...others] = Object.values(units.present)
  return first !== undefined && others.length === 0 ? { unit: unitName(application, first.number) } : undefined
}

/** The limit between epochs of one count. A larger distance means that the count restarted, or that one of them is wrong. */
const FARTHEST = 1_000

const isBefore = (epoch: number | undefined, other: number | undefined): boolean =>
  epoch !== undefined && other !== undefined && epoch < other && other - epoch <= FARTHEST

/**
 * Tells if `elected` leads after `leader`. Epochs of one count are compared, and Leases by age. Undefined leaves the decision to the order
 * of the events. An epoch without a Lease excludes no later leader once its unit is gone.
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
 * Decides on application data from a unit. The leader's are accepted. Those of other, deposed or departed units are refused. Without a
 * leader, they wait for the unit's election. Data of a later epoch wait too, because the event of that election may be late.
 */
export const checkAuthority = (leadership: Leadership, claim: SendingUnit): Authority => {
  const { application, leader, units } = leadership
  const { unit, epoch, uid } = claim
  const current = currentLeader(leadership)
  const led = current === undefined ? `${application} has no leader` : `the leader of ${application} is ${current.unit}`
  // an unknown pod may be the successor of a unit that returns
  const isGone = uid === undefined ? hasLeft(units, application, unit) : isDeparted(units, uid)
  if (isGone) return { refused: `${unit} is gone: ${led}` }
  if (isBefore(epoch, leader?.epoch))
    return { refused: `${unit} led in epoch ${epoch}, it is epoch ${leader?.epoch} now: ${led}` }
  if (current === undefined) return { pending: { unit } }
  if (isSameUnit(leadership, unit, current.unit)) return 'now'
  if (isBefore(current.epoch, epoch)) return { pending: { unit, epoch } }
  return { refused: `${unit} does not lead: ${led}` }
}

/** Returns the pending data of the later epoch, or else the newer data. */
export const laterPending = <T>(before: Pending<T> | undefined, next: Pending<T>): Pending<T> =>
  isBefore(next.epoch, before?.epoch) && before !== undefined ? before : next

/** The decision on pending data: due, still pending, or refused. */
export type Resolution<T> = { readonly due: T } | { readonly pending: Pending<T> } | { readonly refused: string }

/** Resolves pending data after any change of leader or units, so that no further event is needed. Data of another unit than the leader are refused. */
export const resolvePending = <T>(leadership: Leadership, pending: Pending<T>): Resolution<T> => {
  const { application, units } = leadership
  const { unit, epoch, data } = pending
  const current = currentLeader(leadership)
  if (epoch !== undefined && hasLeft(units, application, unit)) return { refused: `${unit} is gone` }
  if (current === undefined || isBefore(current.epoch, epoch)) return { pending }
  if (isSameUnit(leadership, unit, current.unit)) return { due: data }
  return { refused: `${unit} does not lead: the leader of ${application} is ${current.unit}` }
}

const isSameUnit = ({ application, units }: Leadership, one: string, other: string): boolean => {
  const number = findUnitNumber(units, application, one)
  return one === other || (number !== undefined && number === findUnitNumber(units, application, other))
}
