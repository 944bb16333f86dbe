import { changed, ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { Relation } from '../../state/relation.ts'
import { configRequester, requesterNames } from '../../state/requesters.ts'
import type { State } from '../../state/state.ts'
import { remoteSubject } from '../peer-entry.ts'
import { peerView } from '../peer-view.ts'
import type { Peers } from '../peers.ts'
import { labelsKey, requestedLabels, takesLabels } from '../requested-labels.ts'
import type { ResolvedRelations } from '../resolve-relations.ts'
import { withEntries } from '../told/entries.ts'
import { claimAfter, claimBefore, type Sees } from './offer-and-claim.ts'

/** Adds the claims that are saved before the first write of a step. */
export const withClaims = (state: State, resolved: ResolvedRelations): State =>
  withEntries(state, (entry, key) =>
    takesLabels(entry) ? { claim: claimBefore(entry.claim, seenOf(resolved, key)) } : undefined,
  )

/** Returns the view that a requirer has of the offer of a relation. */
const seenOf = ({ state: { relations } }: ResolvedRelations, key: string): Sees => {
  const relation = ownValue(relations, key)
  if (relation === undefined) return 'nothing'
  if (relation.source === 'unknown') return 'unknown'
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
