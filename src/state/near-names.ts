import { ownValue } from '../base/own-value.ts'
import { isSameRelation, type RelationEntry, withoutOwnNamespace } from './relation.ts'
import type { State } from './state.ts'

/**
 * The same with each relation under its one name. Earlier programs saved the own namespace where it was told, and a relation that was told both
 * ways twice: the second one never went.
 */
export const withNearNames = <T extends Pick<State, 'relations'>>(state: T, { namespace: own = '' }: Place): T => {
  const entries = Object.entries(state.relations)
  if (!entries.some(([, { remote }]) => remote.namespace === own)) return state
  const named = entries.map(
    ([key, entry]) => [key, { ...entry, remote: withoutOwnNamespace(own, entry.remote) }] as const,
  )
  const relations: State['relations'] = Object.fromEntries(named)
  const isTwin = (key: string, entry: RelationEntry): boolean => {
    const first = key === String(entry.id) ? undefined : ownValue(relations, String(entry.id))
    return first !== undefined && isSameRelation(first, entry)
  }
  return { ...state, relations: Object.fromEntries(named.filter(([key, entry]) => !isTwin(key, entry))) }
}

type Place = { readonly namespace?: string | undefined }
