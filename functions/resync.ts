import * as z from 'zod'
import { defineFunction } from '../src/define-function.ts'
import { type State, Target, withFormer } from '../src/state.ts'

const DAY_MILLISECONDS = 24 * 60 * 60 * 1_000

/** Says nothing new: the step repairs drift. Tombstones of more than a day go, and so does what `former` names, found to be ours. */
export const resync = defineFunction({
  name: 'resync',
  data: { former: z.array(Target).optional() },
  observation: true,
  fold: (state, { former = [] }, { now }) => {
    const isOld = (gone: string | undefined) =>
      gone !== undefined && now.getTime() - Date.parse(gone) > DAY_MILLISECONDS
    const accepted = Object.fromEntries(
      Object.entries(state.accepted).filter(([, { gone }]) => !isOld(gone)),
    ) satisfies State['accepted']
    return { state: withFormer({ ...state, accepted }, [...(state.former ?? []), ...former]) }
  },
})
