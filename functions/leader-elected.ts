import { defineFunction } from '../src/core/events/event-function.ts'
import { isRemoved } from '../src/core/state/state.ts'
import { isLaterElection, Leader } from '../src/core/units/leader.ts'
import { advance } from '../src/platform/base/event-order.ts'
import { defined } from '../src/platform/base/own-value.ts'

/** A unit becomes the leader. The `epoch` only grows. A lower one belongs to a deposed leader, unless the Lease was recreated. */
export const leaderElected = defineFunction({
  name: 'leader-elected',
  data: Leader.shape,
  observation: true,
  fold: (state, { unit, ...told }, { position, application }) => {
    const { leader, units } = state
    // its last pods still renew their Lease, and nothing waits for a leader
    if (isRemoved(state) && state.pending === undefined) return { state, stale: 'the application was removed' }
    const elected = continueEpoch(leader, { unit, ...told })
    // a Lease is renewed every few seconds, without a change
    if (leader && isSame(leader, elected)) return { state }
    const isLater = isLaterElection({ application, leader, units }, elected)
    if (leader && isLater === false) return { state, stale: deposed(leader, elected) }
    const mark = isLater
      ? advance(undefined, position)
      : advance(state.marks?.leader, position, [state.marks?.application])
    if (mark === 'repeated') return { state }
    if (mark === 'stale') return { state, stale: overtakenBy(leader) }
    return { state: { ...state, leader: elected, marks: { ...state.marks, leader: mark } } }
  },
})

/** Continues the count of the last election, if this one has no epoch. */
const continueEpoch = (leader: Leader | undefined, { unit, epoch, lease }: Leader): Leader => {
  const isOfOneCount = lease === undefined || lease.uid === leader?.lease?.uid
  return defined({
    unit,
    epoch: epoch ?? (isOfOneCount ? leader?.epoch : undefined),
    lease: lease ?? (epoch === undefined ? leader?.lease : undefined),
  })
}

const isSame = (one: Leader, other: Leader): boolean =>
  one.unit === other.unit && one.epoch === other.epoch && one.lease?.uid === other.lease?.uid

const deposed = (leader: Leader, { unit, epoch, lease }: Leader): string =>
  leader.lease?.uid === lease?.uid
    ? `${unit} was leader in epoch ${epoch}, it is epoch ${leader.epoch} now, led by ${leader.unit}`
    : `${unit} held a Lease that was recreated since, and is held by ${leader.unit} now`

const overtakenBy = (leader: Leader | undefined): string =>
  leader ? `${leader.unit} was elected after this event` : 'the application was removed after this event'
