import * as z from 'zod'
import type { OwnedKind, State } from './state.ts'

/** Kinds that programs of before refuse in a memory: they are stored in a key of their own, which those do not know and leave out. */
const LATER: readonly string[] = ['PodDisruptionBudget'] satisfies OwnedKind[]

type Kinds = { readonly owned?: readonly string[]; readonly formerlyOwned?: Readonly<Record<string, string>> }

const isLater = (kind: string): boolean => LATER.includes(kind)

const pick = ({ owned = [], formerlyOwned = {} }: Kinds, isPicked: (kind: string) => boolean): Kinds => {
  const kinds = owned.filter(isPicked)
  const former = Object.entries(formerlyOwned).filter(([kind]) => isPicked(kind))
  return {
    ...(kinds.length > 0 && { owned: kinds }),
    ...(former.length > 0 && { formerlyOwned: Object.fromEntries(former) }),
  }
}

/** The state as it is stored. */
export const withLaterKindsApart = (state: State): object => {
  const { owned, formerlyOwned, ...others } = state
  const kinds: Kinds = { ...(owned && { owned }), ...(formerlyOwned && { formerlyOwned }) }
  const later = pick(kinds, isLater)
  if (Object.keys(later).length === 0) return state
  return { ...others, ...pick(kinds, (kind) => !isLater(kind)), later }
}

const Stored = z.looseObject({
  owned: z.array(z.string()).default([]),
  formerlyOwned: z.record(z.string(), z.string()).default({}),
})

/** Merges the kinds stored apart into the others. Invalid lists are left for the state's schema to refuse. */
export const withLaterKinds = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('later' in value)) return value
  const { later, ...others } = value
  const [state, apart] = [Stored.safeParse(others), Stored.safeParse(later)]
  if (!state.success || !apart.success) return { ...others, owned: later }
  const owned = [...state.data.owned, ...apart.data.owned]
  const formerlyOwned = { ...state.data.formerlyOwned, ...apart.data.formerlyOwned }
  return {
    ...others,
    ...(owned.length > 0 && { owned: owned.toSorted() }),
    ...(Object.keys(formerlyOwned).length > 0 && { formerlyOwned }),
  }
}
