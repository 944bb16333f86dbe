import type { Late, Mark } from '../../../platform/base/event-order.ts'
import { changed, ownValue } from '../../../platform/base/own-value.ts'
import { type RelationEntry, type RelationIdentity, relationsIn } from '../../state/relation.ts'
import { idHolder, type State } from '../../state/state.ts'

/** A relation as announced by a platform or a document. */
export type AnnouncedRelation = RelationIdentity & Pick<RelationEntry, 'remote' | 'document'>

/** The state after an announcement. `late` is the reason why the announcement does not count. */
export type AnnouncementResult = { readonly state: State; readonly late?: Late }

/** Adds or replaces an entry. A new one waits if another relation has its id. Entries are sorted by id. */
export const withEntry = (state: State, key: string, entry: RelationEntry): State => {
  if (ownValue(state.relations, key) === entry) return state
  if (Object.hasOwn(state.relations, key)) return { ...state, relations: { ...state.relations, [key]: entry } }
  const added = idHolder(state, entry) === undefined ? entry : { ...entry, waitsForId: true as const }
  const relations = relationsIn({ relations: { ...state.relations, [key]: added } })
  return { ...state, relations: Object.fromEntries(relations.map(({ key: own, ...one }) => [own, one])) }
}

/** Merges changes into the entries of known relations. It is the same state if nothing changes. */
export const withEntries = (
  state: State,
  change: (entry: RelationEntry, key: string) => Partial<RelationEntry> | undefined,
): State => {
  const entries = Object.entries(state.relations).map(([key, entry]) => {
    const changes = change(entry, key)
    return [key, changes ? changed(entry, changes) : entry] as const
  })
  const isSame = entries.every(([key, entry]) => entry === state.relations[key])
  return isSame ? state : { ...state, relations: Object.fromEntries(entries) }
}

/** Ends a relation, if it is known. */
export const withEnded = (state: State, key: string, mark: Mark, now: Date): State => {
  const before = ownValue(state.relations, key)
  return before === undefined ? state : withEntry(state, key, ended(before, mark, now))
}

/** Returns the entry of a relation that is over. It keeps the time of an end that is known already. */
export const ended = (entry: AnnouncedRelation & Partial<RelationEntry>, mark: Mark, now: Date): RelationEntry => ({
  ...entry,
  ...{ status: 'ended', position: mark },
  endedAt: (entry.status === 'ended' ? entry.endedAt : undefined) ?? now.toISOString(),
})

/** Returns the place of an announcement to one side. The events themselves are remembered with the status. */
export const toldAt = ({ ids: _, ...mark }: Mark): Mark => mark
