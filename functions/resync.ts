import * as z from 'zod'
import { defineFunction } from '../src/define-function.ts'
import { OwnedKind, Target, withFormer } from '../src/state.ts'

const DAY_MILLISECONDS = 24 * 60 * 60 * 1_000

/**
 * Says nothing new: the step repairs drift. Tombstones of more than a day go. `former` names objects that carry the labels of a memory
 * that was lost, `owned` the kinds of its objects.
 */
export const resync = defineFunction({
  name: 'resync',
  data: { former: z.array(Target).optional(), owned: z.array(OwnedKind).optional() },
  observation: true,
  isForNamespaces: true,
  fold: (state, { former = [], owned = [] }, { now }) => {
    const isRecent = (since: string) => now.getTime() - Date.parse(since) <= DAY_MILLISECONDS
    const accepted = Object.entries(state.accepted).filter(([, { gone }]) => gone === undefined || isRecent(gone))
    const found = former.map((target) => ({ ...target, since: now.toISOString() }))
    const places = [...(state.former ?? []).filter(({ since }) => isRecent(since)), ...found]
    const kinds = [...new Set([...(state.owned ?? []), ...owned])].toSorted()
    const next = { ...state, accepted: Object.fromEntries(accepted), ...(kinds.length > 0 && { owned: kinds }) }
    return { state: withFormer(next, places) }
  },
})
