import { relationKey, withoutOwnNamespace } from './relation.ts'
import type { State } from './state.ts'

/**
 * Renames relations to their only valid key. Earlier programs kept the own namespace in a peer's name, so a relation could be saved twice,
 * and the second entry never ended.
 */
export const withNearNames = <T extends Pick<State, 'relations'>>(state: T, { namespace: own = '' }: Place): T => {
  const entries = Object.entries(state.relations)
  if (!entries.some(([, { remote }]) => remote.namespace === own)) return state
  const named = entries
    .map(([, entry]) => ({ ...entry, remote: withoutOwnNamespace(own, entry.remote) }))
    // the entry with the id counts
    .toSorted((one, other) => Number(other.waitsForId === true) - Number(one.waitsForId === true))
  return { ...state, relations: Object.fromEntries(named.map((entry) => [relationKey(entry), entry])) }
}

type Place = { readonly namespace?: string | undefined }
