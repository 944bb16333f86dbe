import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { peerView } from '../../core/relations/peer-view.ts'
import type { Peers } from '../../core/relations/peers.ts'
import { type Databag, relationsIn } from '../../core/state/relation.ts'
import { isEstablished, publishedIn, type State, stands } from '../../core/state/state.ts'
import { defined } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'

/** A relation, with the published data of both sides. */
export type RelationView = {
  readonly id: number
  readonly endpoint: string
  readonly interface: string
  readonly role: 'provides' | 'requires' | 'peers'
  /** `namespace/application` */
  readonly remote: string
  readonly remoteEndpoint?: string
  /** False if the relation has ended, or if another relation has its id. */
  readonly stands: boolean
  /** The relation has ended and is not forgotten yet. */
  readonly ended?: true
  /** The ConfigMap of the document that declares it. */
  readonly document?: string
  readonly says: Databag
  /** The databag in the peer's memory, else the last one that the platform sent. */
  readonly hears: Databag
  /** At a provider: the request is granted, and the grant is not being revoked. */
  readonly granted?: boolean
  /** At a requirer: its workload has or gets labels of the relation. */
  readonly holds?: boolean
}

/** Returns the state of a relation in a word, or a few. */
export const relationState = ({
  ended,
  stands,
  granted,
}: Pick<RelationView, 'ended' | 'stands' | 'granted'>): string => {
  if (ended) return 'ended'
  if (!stands) return 'waits for its id'
  if (granted === undefined) return 'stands'
  return granted ? 'granted' : 'changing'
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
      ended: isEstablished(state, entry) ? undefined : (true as const),
      document,
      says: own?.data ?? {},
      hears: published?.data ?? remote.data ?? {},
      granted: entry.grant && entry.grant.phase === 'standing',
      holds: entry.labels === undefined ? undefined : true,
    })
  })
