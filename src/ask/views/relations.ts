import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { peerView } from '../../core/relations/peer-view.ts'
import type { Peers } from '../../core/relations/peers.ts'
import { type Databag, relationsIn } from '../../core/state/relation.ts'
import { publishedIn, type State, wordOf } from '../../core/state/state.ts'
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
  /** At a requirer of labels: how far it has taken the offer of its provider. */
  readonly claim?: 'claiming' | 'applied' | 'leaving'
}

/** Returns the state of a relation in a word, or a few. */
export const relationState = ({ ended, stands, claim }: Pick<RelationView, 'ended' | 'stands' | 'claim'>): string => {
  if (ended) return 'ended'
  if (!stands) return 'waits for its id'
  return claim === undefined || claim === 'applied' ? 'stands' : 'changing'
}

export const relationViews = (subject: Subject, state: State, peers: Peers): RelationView[] =>
  relationsIn(state).map(({ key, ...entry }) => {
    const { id, endpoint, interface: name, role, remote, document } = entry
    const own = publishedIn(state, entry)
    const standing = wordOf(state, entry)
    const { published, rival } = peerView(subject, state, key, peers)
    return defined({
      ...{ id, endpoint, interface: name, role },
      remote: subjectName(remoteSubject(subject, entry)),
      remoteEndpoint: remote.endpoint,
      stands: standing === 'established' && rival === undefined,
      ended: standing === 'over' ? (true as const) : undefined,
      document,
      says: own?.data ?? {},
      hears: published?.data ?? remote.data ?? {},
      claim: entry.claim?.phase,
    })
  })
