import * as z from 'zod'
import { defineFunction } from '../src/define-function.ts'
import { advance } from '../src/order.ts'
import { defined } from '../src/record.ts'
import { isRemoved, type Leader } from '../src/state.ts'

/** A unit leads from now on. The `epoch` only grows: a lower one is a deposed leader's. */
export const leaderElected = defineFunction({
  name: 'leader-elected',
  data: { unit: z.string().min(1).max(253), epoch: z.int().nonnegative().optional() },
  observation: true,
  fold: (state, { unit, epoch = state.leader?.epoch }, { position }) => {
    const { leader } = state
    // its last pods still renew their Lease
    if (isRemoved(state)) return { state, stale: 'the application was removed' }
    // a Lease is renewed every few seconds, which says nothing new
    if (leader?.unit === unit && leader.epoch === epoch) return { state }
    if (leader?.epoch !== undefined && epoch !== undefined && epoch < leader.epoch)
      return {
        state,
        stale: `${unit} was leader in epoch ${epoch}, it is epoch ${leader.epoch} now, led by ${leader.unit}`,
      }
    const isNewEpoch = leader?.epoch !== undefined && epoch !== undefined && epoch > leader.epoch
    const mark = isNewEpoch
      ? advance(undefined, position)
      : advance(state.marks?.leader, position, [state.marks?.application])
    if (mark === 'repeated') return { state }
    if (mark === 'stale') return { state, stale: overtakenBy(leader) }
    return { state: { ...state, leader: defined({ unit, epoch }), marks: { ...state.marks, leader: mark } } }
  },
})

const overtakenBy = (leader: Leader | undefined): string =>
  leader ? `${leader.unit} was elected after this event` : 'the application was removed after this event'
