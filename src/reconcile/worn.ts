import { ownValue } from '../base/own-value.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { DesiredLabels } from '../feature/feature.ts'
import type { Mesh } from '../feature/mesh.ts'
import { isTemplate, type LabelLocation, readLabels } from '../kubernetes/apply-labels.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { fieldManagersAt } from '../kubernetes/field-managers.ts'
import { isUnknown } from '../kubernetes/label-difference.ts'
import { type KubernetesObject, referenceTo } from '../kubernetes/objects.ts'
import { fieldManager } from '../kubernetes/ownership-labels.ts'
import { isOver, podsOfWorkload } from '../kubernetes/pods.ts'
import { NAME_LABEL } from '../kubernetes/services.ts'
import { remoteSubject } from '../relations/mirror.ts'
import type { Peers } from '../relations/peers.ts'
import { relationsWith } from '../relations/select.ts'
import type { Memory } from '../state/memory.ts'
import { type EffectiveState, stands } from '../state/state.ts'
import { type Observed, placesOf, type Targets, unlessForbidden } from './observed.ts'

/** What is known of an application: where its labels are, and its memory. */
type Known = { readonly targets: Targets; readonly memory: Pick<Memory, 'labels' | 'stored'> }

/** The labels that it is to have. */
type Wanted = { readonly desired: Pick<DesiredLabels, 'labels' | 'unknown'> }

/**
 * Says why what guards pods, and leads to them, stays, though the application leaves the mesh: they run there. A rollout replaces them one after
 * another; those of a template that is not changed yet are all there. Undefined where nothing runs on the mesh, or nothing is to leave it.
 */
export const wornStill = async (
  { enrolment }: Pick<Mesh, 'enrolment'>,
  kubernetes: Kubernetes,
  subject: Subject,
  { targets, memory, desired }: Known & Wanted,
): Promise<string | undefined> => {
  const { key } = enrolment
  if (Object.hasOwn(desired.labels, key) || isUnknown(desired, key)) return undefined
  const places = allPlaces(targets).map((place) => ({
    ...place,
    ...readLabels(place, fieldManager(subject.application)),
  }))
  // a memory may be lost: the Service lets go last
  if (!Object.hasOwn(memory.labels, key) && !places.some(({ holders }) => holders.own.has(key))) return undefined
  const templates = places.filter(isTemplate)
  // pods will go on to start with a label that somebody else holds as well
  if (templates.some(({ holders }) => (holders.others.get(key) ?? []).length > 0)) return undefined
  const isUnchanged = templates.some(({ object, labels }) => Object.hasOwn(labels, key) && hasPods(object))
  return isUnchanged ? waitingFor([]) : await wornNow({ enrolment }, kubernetes, subject, { targets, memory })
}

/** Says the same as wornStill once templates and pods have been changed. */
export const wornNow = async (
  { enrolment: { key, value } }: Pick<Mesh, 'enrolment'>,
  kubernetes: Kubernetes,
  subject: Subject,
  { targets, memory }: Known,
): Promise<string | undefined> => {
  const places = allPlaces(targets)
  const templates = places.filter(isTemplate)
  const isOldest = templates.length > 0 && templates.every(({ object }) => isOlder(object, memory.stored))
  const read = await unlessForbidden(
    Promise.all([
      ...places.map((place) => podsAt(kubernetes, place)),
      // pods outlive their workload, also where another one has taken its name since the application is known
      ...(isOldest ? [] : [podsNamed(kubernetes, subject)]),
    ]),
  )
  if ('problem' in read)
    return `${read.problem}: until it is known that no pod is on the mesh any more, its policies stay`
  const isOn = (pod: KubernetesObject) => ownValue(pod.metadata.labels, key) === value && !isOver(pod)
  const names = [...new Set(read.value.flat().flatMap((pod) => (isOn(pod) ? [pod.metadata.name] : [])))]
  return names.length > 0 ? waitingFor(names.toSorted()) : undefined
}

const MOST_NAMED = 3

const waitingFor = (names: readonly string[]): string => {
  const left = names.length - MOST_NAMED
  const named = [...names.slice(0, MOST_NAMED), ...(left > 0 ? [`${left} more`] : [])]
  const which = named.length > 0 ? ` (${named.join(', ')})` : ''
  return `waiting for pods to be replaced that are on the mesh${which}; their policies stay until then`
}

const allPlaces = ({ current, earlier }: Targets): LabelLocation[] => placesOf([...current, ...earlier])

const podsAt = async (
  kubernetes: Kubernetes,
  { object, path }: LabelLocation,
): Promise<readonly KubernetesObject[]> => {
  if (isTemplate({ path })) return hasPods(object) ? await podsOfWorkload(kubernetes, object) : []
  if (object.kind !== 'Pod') return []
  return [(await kubernetes.find(referenceTo(object))) ?? []].flat()
}

const podsNamed = (kubernetes: Kubernetes, { namespace, application }: Subject): Promise<KubernetesObject[]> =>
  kubernetes.list('Pod', namespace, `${NAME_LABEL}=${application}`)

/** Times of a cluster are whole seconds: of the same one nothing is known. */
const isOlder = (one: KubernetesObject, other: KubernetesObject | undefined): boolean =>
  Date.parse(String(one.metadata.creationTimestamp)) < Date.parse(String(other?.metadata.creationTimestamp))

type Counts = {
  readonly observedGeneration?: number
  readonly replicas?: number
  readonly terminatingReplicas?: number
}

/** False only for what the controller has seen, and counted no pods of; a Deployment counts those that are being deleted apart. */
const hasPods = ({ kind, metadata: { generation = 0 }, status }: KubernetesObject): boolean => {
  const { observedGeneration = 0, replicas = 0, terminatingReplicas } = (status ?? {}) as Counts
  const isDeleting = kind === 'Deployment' && terminatingReplicas !== 0
  return observedGeneration < Number(generation) || replicas > 0 || isDeleting
}

/**
 * Lists the consumers of a mesh that is not for the whole namespace any more, and their workers, of which pods run without labels of their own: the
 * namespace keeps these on it until a rollout has replaced them. All are listed where pods may not be.
 */
export const listBare = async (
  { enrolment }: Pick<Mesh, 'enrolment'>,
  kubernetes: Kubernetes,
  subject: Subject,
  { config, relations }: EffectiveState,
  peers: Peers,
  { owned: { namespace: read } }: Pick<Observed, 'owned'>,
): Promise<string[]> => {
  const namespace = read && 'object' in read ? read.object : undefined
  if (config?.mesh === undefined || config.mesh.modelOnMesh || namespace === undefined) return []
  const { own } = fieldManagersAt(namespace, ['metadata', 'labels'], fieldManager(subject.application))
  const near = relationsWith(relations, { interface: 'service_mesh', role: 'provides' })
    .filter(({ isLeaving }) => !isLeaving)
    .map((relation) => remoteSubject(subject, relation))
    .flatMap((consumer) => [consumer, ...workersOf(consumer, peers)])
    .filter((one) => one.namespace === subject.namespace)
  if (near.length === 0 || !own.has(enrolment.key)) return []
  const pods = await unlessForbidden(kubernetes.list('Pod', subject.namespace, `!${enrolment.key}`))
  if ('problem' in pods) return near.map(subjectName)
  const running = pods.value.filter((pod) => !isOver(pod))
  const names = new Set(running.map(({ metadata }) => ownValue(metadata.labels, NAME_LABEL)))
  return near.filter(({ application }) => names.has(application)).map(subjectName)
}

/** The workers of a coordinator, as far as its memory can be read. */
const workersOf = (coordinator: Subject, peers: Peers): Subject[] => {
  const peer = peers.get(subjectName(coordinator))
  if (peer === undefined || 'unknown' in peer) return []
  return Object.values(peer.state.relations)
    .filter((entry) => entry.interface === 'cluster' && entry.role === 'provides' && stands(peer.state, entry))
    .map((entry) => remoteSubject(coordinator, entry))
}
