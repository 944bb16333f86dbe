import { isDeepStrictEqual } from 'node:util'
import { changed, ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { type Grant, type Relation, type RelationEntry, relationName, requesterName } from '../state/relation.ts'
import { isConfigUnknown, type State } from '../state/state.ts'
import { grantIntent, labelsIntent, nextGrant, nextLabels, type ProviderSees, type RequirerSees } from './handshake.ts'
import { remoteSubject } from './peer-entry.ts'
import { mayCarryLabels, type PeerView, peerView } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { grantsLabels, requestedLabels, runsProvider, takesLabels } from './requested-labels.ts'
import type { ResolvedRelations } from './resolve-relations.ts'

/** A transition during which the peer must not move: a first enrolment, or the withdrawal of labels or of a grant. */
export type Intent = {
  readonly key: string
  readonly remote: Subject
  /** The progress that is saved before the peer is read again. Undefined if none has to be. */
  readonly saves: Pick<RelationEntry, 'labels' | 'grant'> | undefined
}

/**
 * Lists the intents that are saved before the peer is read again and the transition happens. If both sides move at once, at least one of
 * them sees the other. `before` is the state that was read.
 */
export const dueIntents = (
  subject: Subject,
  before: Pick<State, 'relations'>,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
): Intent[] =>
  Object.entries(state.relations).flatMap(([key, entry]): Intent[] => {
    const relation = ownValue(relations, key)
    const intent = takesLabels(entry)
      ? requirerIntent(entry, relation)
      : providerIntent(ownValue(before.relations, key), state, entry, relation, peerView(subject, state, key, peers))
    return intent ? [{ key, remote: remoteSubject(subject, entry), ...intent }] : []
  })

const requirerIntent = (entry: RelationEntry, relation: Relation | undefined): Pick<Intent, 'saves'> | undefined => {
  const labels = labelsIntent(entry, seenByRequirer(relation))
  return labels && { saves: { labels } }
}

const providerIntent = (
  before: RelationEntry | undefined,
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  peer: PeerView,
): Pick<Intent, 'saves'> | undefined => {
  if (!grantsLabels(entry) || entry.grant === undefined) return undefined
  const grant = grantIntent(entry, seenByProvider(state, entry, relation, peer))
  if (grant !== undefined) return { saves: isDeepStrictEqual(grant, entry.grant) ? undefined : { grant } }
  const digest = before?.published?.digest
  // a consumer that applies labels by the earlier data still relies on the policies of those data
  const isChanged = digest !== undefined && digest !== entry.published?.digest
  // the changed request may change back before anything is revoked
  const isAskedAnew = peer.published !== undefined && peer.entry?.published?.digest !== entry.grant.digest
  return isChanged || isAskedAnew ? { saves: undefined } : undefined
}

/** Merges the progress of intents into the entries of their relations. */
export const withIntents = (state: State, intents: readonly Intent[]): State =>
  withEntries(
    state,
    intents.map(({ key, saves = {} }) => ({ key, entry: saves })),
  )

const seenByRequirer = (relation: Relation | undefined): RequirerSees => {
  if (relation === undefined) return 'nothing'
  if (relation.isUnknown) return 'unknown'
  return isDue(relation) ? 'granted' : 'nothing'
}

const seenByProvider = (
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  peer: PeerView,
): ProviderSees => {
  if (relation === undefined) return 'over'
  if (!runsProvider(state, entry)) return isConfigUnknown(state) || mayCarryLabels(entry, peer) ? 'unknown' : 'over'
  if (relation.isLeaving) return 'leaving'
  return relation.isUnknown || peer.entry === undefined ? 'unknown' : 'established'
}

/** Returns the digest of the peer's request. While the relation is established, its data must be readable. */
const requestDigest = ({ entry, published }: PeerView, sees: ProviderSees): string | undefined =>
  sees === 'leaving' || published !== undefined ? entry?.published?.digest : undefined

/** Merges changes into the entries of known relations. */
export const withEntries = (
  state: State,
  entries: readonly { readonly key: string; readonly entry: Partial<RelationEntry> }[],
): State => ({
  ...state,
  relations: {
    ...state.relations,
    ...Object.fromEntries(
      entries.flatMap(({ key, entry }) => {
        const before = ownValue(state.relations, key)
        return before ? [[key, { ...before, ...entry }] as const] : []
      }),
    ),
  },
})

/** Records the data that were sent to a peer without a memory. Null while they are on their way. */
export const noteDelivered = (state: State, key: string, delivered: string | null): State =>
  withEntries(state, [{ key, entry: { peer: { ...ownValue(state.relations, key)?.peer, delivered } } }])

/** Tells if the labels of the relation are due. */
const isDue = (relation: Relation): boolean =>
  relation.awaits === undefined && Object.keys(requestedLabels(relation)).length > 0

/** The failures of a step: requesters without their grants, and labels that may remain. */
export type StepFailures = { readonly requesters: ReadonlySet<string>; readonly mayBeLabelled: boolean }

/** Records the progress of a step: labels, grants, and the observed data of peers. */
export const recordProgress = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
  peers: Peers,
  failed: StepFailures,
): State => {
  const next = (key: string, entry: RelationEntry): RelationEntry => {
    const relation = ownValue(relations, key)
    const other = peerView(subject, state, key, peers)
    const { published, shows } = other
    const isFailed =
      relation !== undefined && requesterNames(subject, relation).some((name) => failed.requesters.has(name))
    const { peer = {} } = entry
    const observed = changed(peer, {
      observed: isFailed ? peer.observed : (shows ?? peer.observed),
      publishes: published ? true : peer.publishes,
    })
    return changed(entry, {
      labels: takesLabels(entry) ? nextLabels(entry, seenByRequirer(relation), failed.mayBeLabelled) : undefined,
      grant: grantsLabels(entry) ? grantNow(state, entry, relation, isFailed, other) : undefined,
      peer: Object.keys(observed).length === 0 ? undefined : observed,
    })
  }
  const entries = Object.entries(state.relations).map(([key, entry]) => [key, next(key, entry)] as const)
  return { ...state, relations: Object.fromEntries(entries) }
}

/** Returns the grant after the step's writes. If policies of the requester failed, the grant does not change. */
const grantNow = (
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  isFailed: boolean,
  peer: PeerView,
): Grant | undefined => {
  const seen = seenByProvider(state, entry, relation, peer)
  const sees = isFailed && seen === 'established' ? 'unknown' : seen
  return nextGrant(entry, sees, isFailed || relation?.isUnknown ? undefined : requestDigest(peer, sees))
}

/** Returns a relation's requester names: that of a beacon, and that of a coordinator. */
const requesterNames = (subject: Subject, relation: Relation): string[] => [
  requesterName(subject, relation),
  `${relationName(relation)} of ${subjectName(subject)}`,
]
