import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { peerView } from '../../core/relations/peer-view.ts'
import type { Peers } from '../../core/relations/peers.ts'
import { type Databag, relationsIn } from '../../core/state/relation.ts'
import { publishedIn, type State, stands } from '../../core/state/state.ts'
import { defined } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'

/** A relation with what both of its sides say. */
export type RelationView = {
  readonly id: number
  readonly endpoint: string
  readonly interface: string
  readonly role: 'provides' | 'requires' | 'peers'
  /** `namespace/application` */
  readonly remote: string
  readonly remoteEndpoint?: string
  /** False for one that is over, and not forgotten yet, and for one whose id another relation has. */
  readonly stands: boolean
  /** The ConfigMap that it is kept in. */
  readonly document?: string
  readonly says: Databag
  /** The databag that the other side published in its memory, else the one that a platform sent for it. */
  readonly hears: Databag
  /** A provider: it has granted what is asked for, or is about to revoke it. */
  readonly granted?: boolean
  /** A requirer: its workload carries labels that the relation asks for. */
  readonly holds?: boolean
}

export const relationViews = (subject: Subject, state: State, peers: Peers): RelationView[] =>
  relationsIn(state).map(({ key, ...entry }) => {
    const { id, endpoint, interface: name, role, remote, document } = entry
    const own = publishedIn(state, entry)
    const { published, rival } = peerView(subject, state, key, peers)
    return defined({
      ...{ id, endpoint, interface: name, role },
      remote: subjectName(remoteSubject(subject, entry)),
      remoteEndpoint: remote.endpoint,
      stands: stands(state, entry) && rival === undefined,
      document,
      says: own?.data ?? {},
      hears: published?.data ?? remote.data ?? {},
      granted: entry.grant && entry.grant.phase === 'standing',
      holds: entry.labels === undefined ? undefined : true,
    })
  })
