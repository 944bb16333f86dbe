import { isDeepStrictEqual } from 'node:util'
import { changed, ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { Relation } from '../../state/relation.ts'
import type { State } from '../../state/state.ts'
import { remoteSubject } from '../peer-entry.ts'
import { peerView } from '../peer-view.ts'
import type { Peers } from '../peers.ts'
import { labelsKey, requestedLabels, takesLabels } from '../requested-labels.ts'
import { configRequester, requesterNames } from '../requester-names.ts'
import type { ResolvedRelations } from '../resolve-relations.ts'
import { withEntries } from '../told/entries.ts'
import { claimAfter, claimBefore, type Sees } from './offer-and-claim.ts'
import { versionOf } from './published-version.ts'

/** Adds the claims that are saved before the first write of a step. One that `isJoining` has applied no offer, whatever it claimed before. */
export const withClaims = (state: State, resolved: ResolvedRelations, isJoining: boolean): State =>
  withEntries(state, (entry, key) => {
    if (!takesLabels(entry)) return undefined
    const known = isJoining && entry.claim ? ({ ...entry.claim, phase: 'claiming' } as const) : entry.claim
    return { claim: claimBefore(known, seenOf(resolved, key)) }
  })

/** Returns the view that a requirer has of the offer of a relation. */
const seenOf = ({ state: { relations }, unknown }: ResolvedRelations, key: string): Sees => {
  const relation = ownValue(relations, key)
  if (relation === undefined) return 'nothing'
  // labels of an offer are not taken while it is not known what guards the application
  if (relation.source === 'unknown' || unknown.guards) return 'unknown'
  const isOffered =
    relation.provider?.version !== undefined
      ? Object.hasOwn(relation.remote.data, labelsKey(relation))
      : Object.keys(requestedLabels(relation)).length > 0
  return isOffered ? { offer: relation.provider?.version ?? '' } : 'nothing'
}

/** The failures of a step: requesters whose policies do not stand, and labels that could not be written, or may remain. */
export type StepFailures = {
  readonly requesters: ReadonlySet<string>
  readonly isUnlabelled: boolean
  readonly mayBeLabelled: boolean
}

/** Records what a step has done: the claims, and the versions of peers that it acted on. */
export const recordProgress = (
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  peers: Peers,
  failed: StepFailures,
): State =>
  withEntries(state, (entry, key) => {
    const relation = ownValue(resolved.state.relations, key)
    const { published, shows } = peerView(subject, state, key, peers)
    const isFailed = relation !== undefined && askingFor(subject, relation).some((one) => failed.requesters.has(one))
    const { peer = {} } = entry
    const seen = changed(peer, {
      seen: isFailed ? peer.seen : (shows ?? peer.seen),
      publishes: published ? true : peer.publishes,
    })
    const ending = { isDone: !isFailed && !failed.isUnlabelled, mayRemain: failed.mayBeLabelled }
    return {
      claim: takesLabels(entry) ? claimAfter(entry.claim, seenOf(resolved, key), ending) : undefined,
      peer: Object.keys(seen).length === 0 ? undefined : seen,
    }
  })

/** Names the requesters of the policies that a claim is about: also the config of the beacon asks for some that its consumer writes. */
const askingFor = (subject: Subject, relation: Relation): string[] => [
  ...requesterNames(subject, relation),
  ...(takesLabels(relation) ? [configRequester(remoteSubject(subject, relation))] : []),
]

/** Lists the peers to be read again once a step is saved: those whose offers it claims anew, and those that claim an offer of its own that has changed or is over. */
export const peersToReread = (subject: Subject, before: State, saved: State): { key: string; remote: Subject }[] =>
  Object.entries(saved.relations).flatMap(([key, entry]) => {
    const known = ownValue(before.relations, key)
    const isClaimed = entry.claim?.phase === 'claiming'
    const isOffered =
      entry.role === 'provides' &&
      known?.published?.digest !== undefined &&
      versionOf(before, known) !== versionOf(saved, entry)
    return isClaimed || isOffered ? [{ key, remote: remoteSubject(subject, entry) }] : []
  })

/** Tells if the claim or the offer of a peer has moved. If both sides move at once, at least one of them sees the other. */
export const hasMoved = (subject: Subject, saved: State, key: string, before: Peers, again: Peers): boolean => {
  const known = peerView(subject, saved, key, before)
  const now = peerView(subject, saved, key, again)
  return saved.relations[key]?.role === 'provides'
    ? !isDeepStrictEqual([known.entry?.claim, known.labels], [now.entry?.claim, now.labels])
    : known.shows !== now.shows
}
