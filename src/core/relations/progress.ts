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

/** A change during which the peer must not move: a first enrolment, or labels or a grant that are withdrawn. */
export type Intent = {
  readonly key: string
  readonly remote: Subject
  /** The progress that is saved before the peer is read again; undefined where none need be. */
  readonly saves: Pick<RelationEntry, 'labels' | 'grant'> | undefined
}

/**
 * Lists the intents that must be saved before the peer is read again and the change is made. If both sides move at once, at least one of them
 * sees the other. `before` is the state that was read.
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
  // a consumer that takes labels by the old data still relies on the policies that went with them
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

/** The digest of what the peer asks for; while the relation is established, only where its data can be read. */
const requestDigest = ({ entry, published }: PeerView, sees: ProviderSees): string | undefined =>
  sees === 'leaving' || published !== undefined ? entry?.published?.digest : undefined

/** Merges what is new into the entries of relations, as far as these are there. */
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

/** Records what was sent to the peer of a relation that has no memory; null while it is on its way. */
export const noteDelivered = (state: State, key: string, delivered: string | null): State =>
  withEntries(state, [{ key, entry: { peer: { ...ownValue(state.relations, key)?.peer, delivered } } }])

/** Tells if the labels of the relation are carried from now on. */
const isDue = (relation: Relation): boolean =>
  relation.awaits === undefined && Object.keys(requestedLabels(relation)).length > 0

/** The failures of a step: requesters without their grants, and labels that may not all be gone. */
export type StepFailures = { readonly requesters: ReadonlySet<string>; readonly mayBeLabelled: boolean }

/** Records the progress of a step: labels, grants, and the remote data they were applied for. */
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

/** The grant once the step has written; where policies of the requester failed, it is that of before. */
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

/** Names a relation's requester as a beacon and as a coordinator do. */
const requesterNames = (subject: Subject, relation: Relation): string[] => [
  requesterName(subject, relation),
  `${relationName(relation)} of ${subjectName(subject)}`,
]
