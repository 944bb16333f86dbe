import * as z from 'zod'
import { defineFunction } from '../src/define-function.ts'
import { accept, isStale } from '../src/order.ts'

/** A unit leads from now on. The `epoch` only grows: a lower one is a deposed leader's. */
export const leaderElected = defineFunction({
  name: 'leader-elected',
  data: { unit: z.string().min(1), epoch: z.int().nonnegative().optional() },
  observation: true,
  fold: (state, { unit, epoch }, { position }) => {
    const before = state.leader
    if (epoch !== undefined && before?.epoch !== undefined) {
      if (epoch < before.epoch)
        return {
          state,
          stale: `${unit} was leader in epoch ${epoch}, it is epoch ${before.epoch} now, led by ${before.unit}`,
        }
      return { state: { ...state, leader: { unit, epoch } } }
    }
    if (isStale(state, 'leader', position)) return { state, stale: `${before?.unit} was elected after this event` }
    const known = epoch ?? before?.epoch
    return {
      state: accept({ ...state, leader: { unit, ...(known !== undefined && { epoch: known }) } }, 'leader', position),
    }
  },
})
