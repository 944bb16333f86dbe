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

/** The application that a requester's name is about, `{namespace}/{application}`; the name itself where it is none. */
export const requesterApplication = (name: string): string => {
  const parsed = parseRequester(name)
  return parsed ? subjectName(parsed.requester) : name
}

/**
 * The requesters on the policies of a beacon of which it is not known what they ask for: memories may have been lost. While nothing is known
 * of an application that runs, what was granted to it stays.
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

/**
 * The consumers of a mesh that the application does not run any more, of which its memory does not know: pods carry labels of it, and their memory is
 * lost or says that they do.
 */
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
      // what is not known changes nothing
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

/** Lists pods; undefined where that is forbidden. */
const podsIn = async (kubernetes: Kubernetes, namespace: string | undefined, selector: string) =>
  await ifPermitted(kubernetes.list('Pod', namespace, selector))

/** The pods of all namespaces, or those of the application's where others may not be read. */
const podsAnywhere = async (kubernetes: Kubernetes, { namespace }: Subject, selector: string) =>
  (await podsIn(kubernetes, undefined, selector)) ?? (await podsIn(kubernetes, namespace, selector)) ?? []

/** Tells if the labels of the pods may be those of a relation with the beacon. */
const mayBeLed = (beacon: Subject, peer: Peer | undefined): boolean =>
  peer === undefined || !('state' in peer) || peer.state.recovering === true || holdsOf(peer, beacon).length > 0

/** The relations with the beacon of which an application carries labels. */
const holdsOf = ({ subject, state }: Extract<Peer, ReadablePeer>, beacon: Subject): RelationEntry[] =>
  Object.values(state.relations).filter(
    (entry) =>
      entry.interface === 'service_mesh' &&
      entry.labels !== undefined &&
      isSameSubject(remoteSubject(subject, entry), beacon),
  )

/** Finds the relation of a requester: others may have the same id. */
const keyOf = (subject: Subject, { relations }: State, { id, requester }: Requester): string | undefined =>
  Object.entries(relations).find(
    ([, entry]) => String(entry.id) === id && isSameSubject(remoteSubject(subject, entry), requester),
  )?.[0]

/** Tells if the consumer's requests are known, also after the relation is over: its labels go before its guards do. */
const isHeard = (subject: Subject, state: State, peers: Peers, one: Requester): boolean => {
  const key = keyOf(subject, state, one)
  const entry = key === undefined ? undefined : ownValue(state.relations, key)
  if (key === undefined || entry === undefined) return false
  const { published } = peerView(subject, state, key, peers)
  return isAsking(entry) || (published !== undefined && !published.partial)
}

/** Tells if the platform says what a consumer asks for: an emptied databag asks for nothing, unless the consumer publishes for itself. */
const isAsking = (entry: RelationEntry): boolean =>
  Object.keys(entry.remote.data ?? {}).length > 0 || (isEmptied(entry) && entry.peer?.publishes !== true)

/** The consumers that have said nothing yet, not even that they ask for nothing: their config is not known, or not any more. */
const muteRequesters = (subject: Subject, state: State, peers: Peers): string[] =>
  Object.entries(state.relations).flatMap(([key, entry]) => {
    const isConsumer = entry.interface === 'service_mesh' && entry.role === 'provides' && stands(state, entry)
    const { entry: theirs, published, isOver } = peerView(subject, state, key, peers)
    const isMute = (published === undefined || published.partial) && !isAsking(entry)
    return isConsumer && theirs !== undefined && !isOver && isMute ? [requesterName(subject, entry)] : []
  })

/**
 * Tells if the application has a workload but no memory, or a lost memory that knows no relations yet, or knows of no relation with any beacon
 * where the beacon knows of no end either, or carries labels of the beacon and has not said what it asks for.
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
 * Tells if neither side of a grant knows what became of its relation, as both lost their memories: an application that the namespace keeps on the mesh
 * carries no label that would say so. A side that alone has been told of the relation since is yet to be heard by the other one.
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
