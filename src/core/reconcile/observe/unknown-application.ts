import { isSameSubject, type Subject } from '../../../platform/base/subject.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { hasWorkload } from '../../../platform/kubernetes/workloads.ts'
import { isRelatedTo, type Peer, stateOf } from '../../relations/peers.ts'
import type { Change } from '../change.ts'
import type { FoldedObservation, Observation } from '../observe.ts'
import { isDeployed } from './cluster.ts'
import { isOwner } from './field-owners.ts'

/**
 * Tells if only other applications speak of this one: no platform, document or workload has introduced it, and the name may be an alias.
 * Then nothing of it is saved, unless an event ends something that another application knows, or may be told yet, or objects of its own show that
 * its memory was lost.
 */
export const isUnknownApplication = async (
  kubernetes: Kubernetes,
  subject: Subject,
  changes: readonly Change[],
  observation: Observation,
  folded: FoldedObservation,
): Promise<boolean> => {
  if (isIntroduced(subject, changes, observation, folded)) return false
  if (!changes.some(({ isEnd }) => isEnd)) return Object.keys(folded.state.relations).length > 0
  const peers = [...observation.found.peers.values()]
  if (peers.some((peer) => isRelatedTo(peer, subject) || isRecovering(peer))) return false
  const named = peers.filter((peer) => isNamed(subject, peer, changes))
  // one that runs without a memory may have lost it
  const isThere = async (peer: Peer) => 'state' in peer || (await hasWorkload(kubernetes, peer.subject))
  return !(await Promise.all(named.map(isThere))).includes(true) && !(await isOwner(kubernetes, subject))
}

/** Tells if a memory, an event, a document or an object of the application introduces it. */
const isIntroduced = (
  { application }: Subject,
  changes: readonly Change[],
  { memory, found: { documents } }: Observation,
  { state, observed }: FoldedObservation,
): boolean =>
  memory.stored !== undefined ||
  !changes.every(({ isNudge, look, isEnd }) => isNudge || look?.isResync || isEnd) ||
  (state.previousTargets ?? []).length > 0 ||
  observed.owned.kinds.some(({ live = [], problem }) => live.length > 0 || problem !== undefined) ||
  documents.found.some((one) => one.application === application && !('isForbidden' in one)) ||
  isDeployed(observed)

/** Tells if an event names a peer: the relation of both may be told to the peer yet, as events come in any order. */
const isNamed = ({ namespace: own }: Subject, { subject }: Peer, changes: readonly Change[]): boolean =>
  changes.some(({ look }) =>
    look?.remotes?.some(({ namespace = own, application }) => isSameSubject({ namespace, application }, subject)),
  )

/** Tells if an application does not know, after its memory was lost, whose labels it carries. The end may be that of their relation. */
const isRecovering = (peer: Peer): boolean => stateOf(peer)?.lost?.labels === true
