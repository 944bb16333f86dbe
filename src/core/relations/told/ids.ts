import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { changed } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { type RelationEntry, relationKey, relationName } from '../../state/relation.ts'
import { idHolder, type State, wordOf } from '../../state/state.ts'
import { remoteSubject } from '../peer-entry.ts'
import { peerView } from '../peer-view.ts'
import type { Peers } from '../peers.ts'

/**
 * Gives free ids to the relations that wait for them. A relation keeps its id until it is over on either side. Then the relation that was
 * announced first gets the id.
 */
export const assignIds = (subject: Subject, state: State, peers: Peers): State => {
  const isOver = (entry: RelationEntry | undefined): boolean => {
    if (entry === undefined || wordOf(state, entry) === 'over') return true
    return peerView(subject, state, relationKey(entry), peers).word === 'over'
  }
  const waiting = Object.values(state.relations).filter((entry) => entry.waitsForId && !isOver(entry))
  return [...Map.groupBy(waiting, ({ id }) => id).values()].reduce((before, [first, ...others]) => {
    const holder = first && idHolder(before, first)
    if (first === undefined || !isOver(holder)) return before
    const next = others.reduce((one, other) => (other.position.at < one.position.at ? other : one), first)
    return withId(before, next, holder)
  }, state)
}

const withId = (state: State, entry: RelationEntry, holder: RelationEntry | undefined): State => ({
  ...state,
  relations: {
    ...state.relations,
    ...(holder && { [relationKey(holder)]: { ...holder, waitsForId: true } }),
    [relationKey(entry)]: changed(entry, { waitsForId: undefined }),
  },
})

/** Lists the waits of relations whose id another relation has, on either side. */
export const sharedIds = (subject: Subject, state: State, peers: Peers): Condition[] =>
  Object.entries(state.relations).flatMap(([key, entry]) => {
    if (entry.told === undefined || wordOf(state, entry) === 'over') return []
    const own = idHolder(state, entry)
    const remote = remoteSubject(subject, entry)
    const holder = own ?? peerView(subject, state, key, peers).rival
    if (holder === undefined) return []
    const side = own ? subject : remote
    const user = subjectName(remoteSubject(side, holder))
    const object = `${relationName(entry)} with ${subjectName(remote)}`
    const message =
      `${object} does not count, as ${subjectName(side)} has the id ${entry.id} for ${holder.interface} with ${user} ` +
      'until that ends: give one of the two another id'
    return [waitFor([user], 'IdTaken', object, message)]
  })
