import { defined } from '../../../platform/base/own-value.ts'
import { isSameNamespace, type Subject } from '../../../platform/base/subject.ts'
import type { RelationEntry } from '../../state/relation.ts'
import { type State, stands } from '../../state/state.ts'
import { isBetween, oppositeIdentity } from '../peer-entry.ts'
import type { Peers, ReadablePeer } from '../peers.ts'
import { endsAlone, tombstoneOf } from './tombstones.ts'

/** A relation that is over. The end of one may have named only its id. */
export type Over = Partial<Pick<RelationEntry, 'interface' | 'role' | 'endpoint'>> & {
  /** The id that its provider knows. Undefined for one that only a peer in another namespace knows, which has ids of its own. */
  readonly id?: string
  readonly remote?: Subject | undefined
}

/** Lists the relations of which the application knows only the end, from its own memory or from a peer. */
export const listEnds = (subject: Subject, { tombstones = {} }: Pick<State, 'tombstones'>, peers: Peers): Over[] => [
  ...Object.entries(tombstones).map(([key, end]) => ({
    ...tombstoneOf(subject, key),
    ...defined({ interface: end.interface }),
  })),
  ...[...peers.values()].flatMap((peer) => ('state' in peer ? endsAt(subject, peer) : [])),
]

const endsAt = (subject: Subject, { subject: remote, state }: ReadablePeer & { readonly subject: Subject }): Over[] => [
  ...endsAlone(subject, remote, state).map((end) => ({ ...end, remote })),
  ...Object.values(state.relations)
    .filter((entry) => !stands(state, entry) && isBetween(entry, remote, subject))
    .map((entry) => {
      const { id, ...identity } = oppositeIdentity(entry)
      return { ...identity, remote, ...(isSameNamespace(remote, subject) && { id: `${id}` }) }
    }),
]
