import * as z from 'zod'
import { defineFunction } from '../src/define-function.ts'
import { Target, withFormer } from '../src/state.ts'

const DAY_MILLISECONDS = 24 * 60 * 60 * 1_000

/**
 * Says nothing new: the step repairs drift. Tombstones of more than a day go. `former` names objects that carry the labels of a memory
 * that was lost.
 */
export const resync = defineFunction({
  name: 'resync',
  data: { former: z.array(Target).optional() },
  observation: true,
  isForNamespaces: true,
  fold: (state, { former = [] }, { now }) => {
    const isRecent = (since: string) => now.getTime() - Date.parse(since) <= DAY_MILLISECONDS
    const accepted = Object.entries(state.accepted).filter(([, { gone }]) => gone === undefined || isRecent(gone))
    const found = former.map((target) => ({ ...target, since: now.toISOString() }))
    const places = [...(state.former ?? []).filter(({ since }) => isRecent(since)), ...found]
    return { state: withFormer({ ...state, accepted: Object.fromEntries(accepted) }, places) }
  },
})
