import { relationKey, withoutOwnNamespace } from './relation.ts'
import type { State } from './state.ts'

/**
 * The same with each relation under its one name. Earlier programs saved the own namespace where it was told, and a relation that was told both
 * ways twice: the second one never went.
 */
export const withNearNames = <T extends Pick<State, 'relations'>>(state: T, { namespace: own = '' }: Place): T => {
  const entries = Object.entries(state.relations)
  if (!entries.some(([, { remote }]) => remote.namespace === own)) return state
  const named = entries
    .map(([, entry]) => ({ ...entry, remote: withoutOwnNamespace(own, entry.remote) }))
    // the one that has the id counts
    .toSorted((one, other) => Number(other.waitsForId === true) - Number(one.waitsForId === true))
  return { ...state, relations: Object.fromEntries(named.map((entry) => [relationKey(entry), entry])) }
}

type Place = { readonly namespace?: string | undefined }
