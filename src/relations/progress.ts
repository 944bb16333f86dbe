import { isDeepStrictEqual } from 'node:util'
import { changed, ownValue } from '../base/own-value.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import { type Grant, type Relation, type RelationEntry, relationName, requesterName } from '../state/relation.ts'
import { isConfigUnknown, type State } from '../state/state.ts'
import { grantIntent, labelsIntent, nextGrant, nextLabels, type ProviderSees, type RequirerSees } from './handshake.ts'
import { remoteSubject } from './peer-entry.ts'
import { mayCarryLabels, type PeerView, peerView } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { isEnrolling, requestedLabels } from './requested-labels.ts'
import type { ResolvedRelations } from './resolve-relations.ts'

/** A change during which the remote side must not move: a first enrolment, or labels or a grant that are withdrawn. */
export type Intent = { readonly key: string; readonly remote: Subject; readonly entry: Partial<RelationEntry> }

/**
 * Collects the intents to save before the other side is read again and they are done. Of two sides that move at once one then sees the
 * other. `before` is the state that was read.
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
    const due = isRequirer(entry)
      ? intentOf({ labels: labelsIntent(entry, seenByRequirer(relation)) })
      : withdrawn(ownValue(before.relations, key), state, entry, relation, peerView(subject, state, key, peers))
    return due ? [{ key, remote: remoteSubject(subject, entry), entry: due }] : []
  })

/** The changes of an intent, where there is one. */
const intentOf = (entry: Pick<RelationEntry, 'labels' | 'grant'>): Partial<RelationEntry> | undefined =>
  Object.values(entry).every((value) => value === undefined) ? undefined : entry

const withdrawn = (
  before: RelationEntry | undefined,
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  peer: PeerView,
): Partial<RelationEntry> | undefined => {
  if (!isProvider(entry) || entry.grant === undefined) return undefined
  const grant = grantIntent(entry, seenByProvider(state, entry, relation, peer))
  if (grant !== undefined) return isDeepStrictEqual(grant, entry.grant) ? READ_AGAIN : { grant }
  // who takes the labels that were asked for until now needs what goes with them
  const digest = before?.published?.digest
  if (digest !== undefined && digest !== entry.published?.digest) return READ_AGAIN
  // the changed request may change back before anything is revoked
  return peer.published && peer.entry?.published?.digest !== entry.grant.digest ? READ_AGAIN : undefined
}

/** Nothing is to be saved for what follows, but the peer is to be read again. */
const READ_AGAIN = {}

const seenByRequirer = (relation: Relation | undefined): RequirerSees => {
  if (relation === undefined) return 'nothing'
  if (relation.isUnknown) return 'unknown'
  return isCarried(relation) ? 'granted' : 'nothing'
}

const seenByProvider = (
  state: State,
  entry: RelationEntry,
  relation: Relation | undefined,
  peer: PeerView,
): ProviderSees => {
  if (relation === undefined) return 'over'
  const isRun = entry.interface === 'cluster' ? state.config?.coordinator : state.config?.mesh
  if (!isRun) return isConfigUnknown(state) || mayCarryLabels(entry, peer) ? 'unknown' : 'over'
  if (relation.isLeaving) return 'leaving'
  return relation.isUnknown || peer.entry === undefined ? 'unknown' : 'established'
}

/** The digest of what the peer asks for; while the relation is established, only where its data can be read. */
const requestedBy = ({ entry, published }: PeerView, sees: ProviderSees): string | undefined =>
  sees === 'leaving' || published !== undefined ? entry?.published?.digest : undefined

/** Merges what is new into the entries of relations, as far as these are there. */
export const withEntries = (state: State, intents: readonly Pick<Intent, 'key' | 'entry'>[]): State => ({
  ...state,
  relations: {
    ...state.relations,
    ...Object.fromEntries(
      intents.flatMap(({ key, entry }) => {
        const before = ownValue(state.relations, key)
        return before ? [[key, { ...before, ...entry }] as const] : []
      }),
    ),
  },
})

/** Records what was sent to the peer of a relation that has no memory; null while it is on its way. */
export const withDelivered = (state: State, key: string, delivered: string | null): State =>
  withEntries(state, [{ key, entry: { peer: { ...ownValue(state.relations, key)?.peer, delivered } } }])

/** Tells if the relation asks this side for labels. */
export const isRequirer = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'requires'

export const isProvider = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'provides'

/** Tells if the labels of the relation are carried from now on. */
const isCarried = (relation: Relation): boolean =>
  relation.awaits === undefined && Object.keys(requestedLabels(relation)).length > 0

/** The failures of a step: requesters without their grants, and labels that could not be removed. */
export type StepFailures = { readonly requesters: ReadonlySet<string>; readonly isLabelling: boolean }

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
      labels: isRequirer(entry) ? nextLabels(entry, seenByRequirer(relation), failed.isLabelling) : undefined,
      grant: isProvider(entry) ? grantNow(state, entry, relation, isFailed, other) : undefined,
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
  return nextGrant(entry, sees, isFailed || relation?.isUnknown ? undefined : requestedBy(peer, sees))
}

/** Names a relation's requester as a beacon and as a coordinator do. */
const requesterNames = (subject: Subject, relation: Relation): string[] => [
  requesterName(subject, relation),
  `${relationName(relation)} of ${subjectName(subject)}`,
]
