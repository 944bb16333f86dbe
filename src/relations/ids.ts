import { ownValue } from '../base/own-value.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { Wait } from '../base/wait.ts'
import { type RelationEntry, type RelationIdentity, relationName } from '../state/relation.ts'
import { idHolder, isEstablished, type State } from '../state/state.ts'
import { remoteSubject } from './peer-entry.ts'
import type { Peers } from './peers.ts'
import { peerView } from './resolve-relations.ts'

type Named = Pick<RelationIdentity, 'id' | 'role' | 'interface'> & Pick<RelationEntry, 'remote'>

/** Builds the key of a relation whose id another one has. */
const ownKey = ({ id, role, interface: name, remote: { namespace, application } }: Named): string =>
  [id, role, name, ...(namespace === undefined ? [] : [namespace]), application].join('/')

/** Returns the key of a relation in a state: its id, unless another relation has that. */
export const relationKey = (state: Pick<State, 'relations'>, relation: Named): string => {
  const own = ownKey(relation)
  const isApart = Object.hasOwn(state.relations, own) || idHolder(state, relation) !== undefined
  return isApart ? own : String(relation.id)
}

/**
 * Gives ids that are free to the relations that wait for them. The one that has an id keeps it until it is over on either side; then the
 * first that was announced takes it.
 */
export const assignIds = (subject: Subject, state: State, peers: Peers): State => {
  const isOver = (key: string): boolean => {
    const entry = ownValue(state.relations, key)
    if (entry === undefined || !isEstablished(state, entry)) return true
    const { isOver, rival } = peerView(subject, state, key, peers)
    return isOver && rival === undefined
  }
  const waiting = Object.entries(state.relations).filter(([key]) => key.includes('/') && !isOver(key))
  const byId = Map.groupBy(waiting, ([, { id }]) => String(id))
  return [...byId].reduce((before, [id, [first, ...others]]) => {
    if (first === undefined || !isOver(id)) return before
    const [key, entry] = others.reduce((one, other) => (other[1].mark.at < one[1].mark.at ? other : one), first)
    return withId(before, key, entry)
  }, state)
}

const withId = ({ relations, ...state }: State, key: string, entry: RelationEntry): State => {
  const { [key]: _, [String(entry.id)]: holder, ...others } = relations
  return { ...state, relations: { ...others, ...(holder && { [ownKey(holder)]: holder }), [entry.id]: entry } }
}

/** Lists the relations announced to this side that wait for their ids, which other relations have on either side. */
export const sharedIds = (subject: Subject, state: State, peers: Peers): Wait[] =>
  Object.entries(state.relations).flatMap(([key, entry]) => {
    if (!entry.mine || !isEstablished(state, entry)) return []
    const own = idHolder(state, entry)
    const remote = remoteSubject(subject, entry)
    const holder = own ?? peerView(subject, state, key, peers).rival
    if (holder === undefined) return []
    const side = own ? subject : remote
    const user = subjectName(remoteSubject(side, holder))
    const held = `${relationName(entry)} with ${subjectName(remote)}`
    const message =
      `${held} does not count, as ${subjectName(side)} has the id ${entry.id} for ${holder.interface} with ${user} ` +
      'until that ends: give one of the two another id'
    return [{ held, for: [user], message }]
  })
