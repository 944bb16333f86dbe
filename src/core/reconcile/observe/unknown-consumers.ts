import { ownValue } from '../../../platform/base/own-value.ts'
import { isSameSubject, type Subject, subjectName } from '../../../platform/base/subject.ts'
import { ifPermitted } from '../../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { isLive } from '../../../platform/kubernetes/pods.ts'
import { NAME_LABEL } from '../../../platform/kubernetes/services.ts'
import { hasWorkload } from '../../../platform/kubernetes/workloads.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { hasTombstone } from '../../relations/announcements.ts'
import { remoteSubject } from '../../relations/peer-entry.ts'
import { peerView } from '../../relations/peer-view.ts'
import { type Peer, type Peers, type ReadablePeer, readPeers } from '../../relations/peers.ts'
import { isEmptied, parseRequester, type RelationEntry, type Requester, requesterName } from '../../state/relation.ts'
import { isConfigUnknown, isEstablished, type PublicState, type State, stands } from '../../state/state.ts'
import type { Observed } from './cluster.ts'

/** Returns the application in a requester's name, `{namespace}/{application}`, or the name itself if it cannot be parsed. */
export const requesterApplication = (name: string): string => {
  const parsed = parseRequester(name)
  return parsed ? subjectName(parsed.requester) : name
}

/**
 * Lists the requesters on the policies of a beacon whose requests are unknown, for example because memories were lost. The grants of a
 * running application stay while its requests are unknown.
 */
export const unheardRequesters = async (
  { requestersOf }: Pick<Mesh, 'requestersOf'>,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  peers: Peers,
  { owned }: Observed,
): Promise<string[]> => {
  if (state.config?.mesh === undefined) return []
  const unheard = requestersOn(owned, { requestersOf }).filter(
    (one) => !isHeard(subject, state, peers, one) && !isSameSubject(subject, one.requester),
  )
  const silent = await Promise.all(
    unheard.map(async (one) => ((await isSilent(kubernetes, subject, state, one, peers)) ? [one.name] : [])),
  )
  return [...muteRequesters(subject, state, peers), ...silent.flat()]
}

const requestersOn = ({ kinds }: Observed['owned'], { requestersOf }: Pick<Mesh, 'requestersOf'>) =>
  [...new Set(kinds.flatMap(({ live = [] }) => live.flatMap(requestersOf)))].flatMap((name) => {
    const parsed = parseRequester(name)
    return parsed ? [{ name, ...parsed }] : []
  })

/** Lists consumers of a former mesh that its memory does not know: their pods carry its labels, and their memory is lost or has the labels too. */
export const unknownConsumers = async (
  mesh: Mesh,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  peers: Peers,
  { owned }: Observed,
): Promise<string[]> => {
  if (isConfigUnknown(state) || state.config?.mesh !== undefined) return []
  const { key, value } = mesh.enrolment
  const carrying = (pods: readonly KubernetesObject[]): Subject[] =>
    pods
      .filter((pod) => isLive(pod) && mesh.mayAskFor(subject, pod.metadata.labels ?? {}))
      .map(({ metadata: { namespace = '', labels } }) => ({
        namespace,
        application: ownValue(labels, NAME_LABEL) ?? '',
      }))
  const hasWaypoint = owned.kinds.some(({ kind, live = [] }) => kind === 'Gateway' && live.length > 0)
  const unknown = requestersOn(owned, mesh).filter(
    (one) => !isSameSubject(subject, one.requester) && keyOf(subject, state, one) === undefined,
  )
  const asked = new Map(unknown.map(({ requester }) => [subjectName(requester), requester]))
  const listed = await Promise.all([
    ...(hasWaypoint ? [podsAnywhere(kubernetes, subject, mesh.ledBy(subject)).then(carrying)] : []),
    ...[...asked.values()].map(async (requester): Promise<Subject[]> => {
      const { namespace, application } = requester
      const pods = await podsIn(kubernetes, namespace, `${NAME_LABEL}=${application},${key}=${value}`)
      // unknown changes nothing
      return pods === undefined ? [requester] : carrying(pods)
    }),
  ])
  const names = listed.flat()
  const consumers = new Map(names.map((one) => [subjectName(one), one]))
  consumers.delete(subjectName(subject))
  const read = await readPeers(
    kubernetes,
    [...consumers.values()].filter((one) => !peers.has(subjectName(one))),
  )
  const known = new Map([...peers, ...read.map((peer) => [subjectName(peer.subject), peer] as const)])
  return [...consumers.keys()].filter((name) => mayBeLed(subject, known.get(name))).toSorted()
}

/** Lists pods. Undefined if that is forbidden. */
const podsIn = async (kubernetes: Kubernetes, namespace: string | undefined, selector: string) =>
  await ifPermitted(kubernetes.list('Pod', namespace, selector))

/** Lists the pods of all namespaces, or only those of the application's namespace if the others are forbidden. */
const podsAnywhere = async (kubernetes: Kubernetes, { namespace }: Subject, selector: string) =>
  (await podsIn(kubernetes, undefined, selector)) ?? (await podsIn(kubernetes, namespace, selector)) ?? []

/** Tells if the labels of the pods may come from a relation with the beacon. */
const mayBeLed = (beacon: Subject, peer: Peer | undefined): boolean =>
  peer === undefined || !('state' in peer) || peer.state.recovering === true || holdsOf(peer, beacon).length > 0

/** Lists the relations with the beacon whose labels an application carries. */
const holdsOf = ({ subject, state }: Extract<Peer, ReadablePeer>, beacon: Subject): RelationEntry[] =>
  Object.values(state.relations).filter(
    (entry) =>
      entry.interface === 'service_mesh' &&
      entry.labels !== undefined &&
      isSameSubject(remoteSubject(subject, entry), beacon),
  )

/** Finds the relation of a requester. Other relations may have the same id. */
const keyOf = (subject: Subject, { relations }: State, { id, requester }: Requester): string | undefined =>
  Object.entries(relations).find(
    ([, entry]) => String(entry.id) === id && isSameSubject(remoteSubject(subject, entry), requester),
  )?.[0]

/** Tells if the consumer's requests are known. This holds after the relation's end too, because the labels go before their guards. */
const isHeard = (subject: Subject, state: State, peers: Peers, one: Requester): boolean => {
  const key = keyOf(subject, state, one)
  const entry = key === undefined ? undefined : ownValue(state.relations, key)
  if (key === undefined || entry === undefined) return false
  const { published } = peerView(subject, state, key, peers)
  return isAsking(entry) || (published !== undefined && !published.partial)
}

/** Tells if the platform has the consumer's request. An emptied databag requests nothing, unless the consumer publishes for itself. */
const isAsking = (entry: RelationEntry): boolean =>
  Object.keys(entry.remote.data ?? {}).length > 0 || (isEmptied(entry) && entry.peer?.publishes !== true)

/** Lists the consumers that have not published anything, not even an empty request. Their config is not known yet, or no longer. */
const muteRequesters = (subject: Subject, state: State, peers: Peers): string[] =>
  Object.entries(state.relations).flatMap(([key, entry]) => {
    const isConsumer = entry.interface === 'service_mesh' && entry.role === 'provides' && stands(state, entry)
    const { entry: theirs, published, isOver } = peerView(subject, state, key, peers)
    const isMute = (published === undefined || published.partial) && !isAsking(entry)
    return isConsumer && theirs !== undefined && !isOver && isMute ? [requesterName(subject, entry)] : []
  })

/**
 * Tells if the requests of a requester are unknown. This is so in each of these cases: it runs without a memory; its memory is unreadable;
 * its memory is recovering; neither side knows what became of the relation; or it carries labels of the beacon and has not published its
 * request.
 */
const isSilent = async (
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  { id, requester }: Requester,
  peers: Peers,
): Promise<boolean> => {
  const known = peers.get(subjectName(requester))
  const [peer] = known ? [known] : await readPeers(kubernetes, [requester])
  if (peer === undefined) return false
  if ('state' in peer)
    return (
      peer.state.recovering === true ||
      hasYetToTell(subject, requester, state, peer.state, id) ||
      holdsOf(peer, subject).some(({ published }) => published?.digest === undefined)
    )
  return peer.unknown === 'unreadable' || (await hasWorkload(kubernetes, requester))
}

/**
 * Tells if neither side knows what became of a relation, because both memories were lost. An application that the namespace keeps on the
 * mesh carries no label that would show it. If only one side has been told of the relation since, the other one has yet to hear of it.
 */
const hasYetToTell = (subject: Subject, requester: Subject, state: State, theirs: PublicState, id: string): boolean => {
  const far = enrolmentsIn(theirs)
  const near = enrolmentsIn(state).filter((entry) => isSameSubject(remoteSubject(subject, entry), requester))
  return (
    theirs.removed === undefined &&
    far.every((entry) => isEstablished(theirs, entry) && isSameSubject(remoteSubject(requester, entry), subject)) &&
    near.every((entry) => isEstablished(state, entry)) &&
    (far.length === 0 || near.length === 0) &&
    !hasTombstone(theirs, id) &&
    !hasTombstone(state, id)
  )
}

const enrolmentsIn = ({ relations }: PublicState): RelationEntry[] =>
  Object.values(relations).filter((entry) => entry.interface === 'service_mesh')
