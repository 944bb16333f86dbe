import { hasLeft, isDeparted, numberNamed, type Units } from './units.ts'

/** A unit that leads, or says that it does, in an epoch that only grows. */
export type Leader = { readonly unit: string; readonly epoch?: number | undefined }

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

/** The leader, as long as its unit is there: an election takes a while, and in between there is none. */
export const currentLeader = ({ application, leader, units }: Leadership): Leader | undefined =>
  leader !== undefined && !hasLeft(units, application, leader.unit) ? leader : undefined

/**
 * Whether application data that a unit sends counts. The leader's does. Of another unit it is refused, as it is of a deposed leader and of
 * a unit that is gone. Without a leader it waits for the next one; so does what comes from a later epoch than is known here, whose
 * election may only be late.
 */
export const authorityOf = (leadership: Leadership, claim: Claim): Authority => {
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
export type Settled<T> = { readonly due: T } | { readonly pending: Pending<T> } | { readonly refused: string }

/** Looks at what waits for a leader, whenever the leader or the units may have changed: no other event is needed for it to be done. */
export const settlePending = <T>(leadership: Leadership, pending: Pending<T>): Settled<T> => {
  const current = currentLeader(leadership)
  if (current === undefined || isBefore(current.epoch, pending.epoch)) return { pending }
  if (pending.epoch === undefined || isSameUnit(leadership, pending.unit, current.unit)) return { due: pending.data }
  return { refused: `${pending.unit} does not lead: the leader of ${leadership.application} is ${current.unit}` }
}

const isBefore = (epoch: number | undefined, other: number | undefined): boolean =>
  epoch !== undefined && other !== undefined && epoch < other

const isSameUnit = ({ application, units }: Leadership, one: string, other: string): boolean => {
  const number = numberNamed(units, application, one)
  return one === other || (number !== undefined && number === numberNamed(units, application, other))
}
