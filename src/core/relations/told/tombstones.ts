import { mergeMarks } from '../../../platform/base/event-order.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import { isSameSubject, type RemoteName, type Subject } from '../../../platform/base/subject.ts'
import type { PublicState, State } from '../../state/state.ts'

export type Tombstones = NonNullable<State['tombstones']>

/** Returns the key of a tombstone: the id, and the remote application if the end named one. */
export const tombstoneKey = (id: number, { application, namespace }: RemoteName): string =>
  [id, application, ...(namespace === undefined ? [] : [namespace])].join('/')

/** Reads the key of a tombstone in the memory of `subject`. */
export const tombstoneOf = (subject: Subject, key: string): { id: string; remote?: Subject | undefined } => {
  const [id = key, application, namespace = subject.namespace] = key.split('/')
  return { id, remote: application === undefined ? undefined : { namespace, application } }
}

/** Lists the relations with `subject` of which `peer` knows only the end: their ids, and the interface, '' if it was not named. */
export const endsAlone = (
  subject: Subject,
  peer: Subject,
  { tombstones = {} }: Pick<PublicState, 'tombstones'>,
): { readonly id: string; readonly interface: string }[] =>
  Object.entries(tombstones).flatMap(([key, { interface: name = '' }]) => {
    const { id, remote } = tombstoneOf(peer, key)
    return peer.namespace === subject.namespace && remote && isSameSubject(remote, subject)
      ? [{ id, interface: name }]
      : []
  })

/** Lists the possible keys of a relation's tombstone, because the end may have named less of the remote application. */
const tombstoneKeys = (id: number, remote: RemoteName | undefined): string[] =>
  remote === undefined
    ? [String(id)]
    : [...new Set([String(id), tombstoneKey(id, { application: remote.application }), tombstoneKey(id, remote)])]

/** Returns the tombstone of a relation, with the latest of its marks. */
export const findTombstone = (
  state: State,
  id: number,
  remote: RemoteName | undefined,
): Tombstones[string] | undefined => {
  const found = tombstoneKeys(id, remote).flatMap((one) => ownValue(state.tombstones, one) ?? [])
  const [first, ...others] = found
  const position = first && others.reduce((one, other) => mergeMarks(one, other.position), first.position)
  return position && { ...first, ...found.at(-1), position }
}

export const withoutTombstone = (state: State, id: number, remote: RemoteName): State => {
  const keys = tombstoneKeys(id, remote)
  const left = Object.entries(state.tombstones ?? {}).filter(([one]) => !keys.includes(one))
  return withTombstones(state, Object.fromEntries(left))
}

export const withTombstones = ({ tombstones: _, ...state }: State, tombstones: Tombstones): State =>
  Object.keys(tombstones).length === 0 ? state : { ...state, tombstones }
