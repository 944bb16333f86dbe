import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { isTemplate, type LabelLocation } from '../../../platform/kubernetes/apply-labels.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { isUnknown } from '../../../platform/kubernetes/label-difference.ts'
import { type KubernetesObject, referenceTo } from '../../../platform/kubernetes/objects.ts'
import { controllerNamed, isOver, podsOfWorkload } from '../../../platform/kubernetes/pods.ts'
import { NAME_LABEL } from '../../../platform/kubernetes/services.ts'
import type { Typed } from '../../../platform/kubernetes/typed.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import type { Mesh } from '../../feature/mesh.ts'
import type { Memory } from '../../state/memory.ts'
import { readHeld } from '../../workload/pod-labels.ts'
import { placesOf, type Targets, unlessForbidden } from './cluster.ts'

/** The labels of an application: their places, those held according to the memory, and the desired ones. */
type Wanted = {
  readonly targets: Targets
  readonly memory: Pick<Memory, 'labels'>
  readonly desired: Pick<DesiredLabels, 'labels' | 'unknown'>
}

/**
 * Returns the wait for pods that are still on the mesh while the application leaves it. Their policies and the labels of their Service stay
 * until then. A rollout replaces pods one by one; before the template changes, all are on the mesh. Undefined if nothing runs on the mesh,
 * or nothing is to leave it.
 */
export const waitForPodsOnMesh = async (
  mesh: Pick<Mesh, 'capture' | 'enrolment'>,
  kubernetes: Kubernetes,
  subject: Subject,
  { targets, memory, desired }: Wanted,
): Promise<Condition | undefined> => {
  const { key } = mesh.enrolment
  if (Object.hasOwn(desired.labels, key) || isUnknown(desired, key)) return undefined
  const places = allPlaces(targets).map((place) => ({
    ...place,
    ...readHeld(subject.application, place),
  }))
  // the memory may be lost, so held labels count as well: those of the Service are removed last
  if (!Object.hasOwn(memory.labels, key) && !places.some(({ holders }) => holders.own.has(key))) return undefined
  const templates = places.filter(isTemplate)
  // another manager holds the label too, so new pods will start with it anyway
  if (templates.some(({ holders }) => (holders.others.get(key) ?? []).length > 0)) return undefined
  const isUnchanged = templates.some(({ object, labels }) => Object.hasOwn(labels, key) && hasPods(object))
  return isUnchanged ? waitingForPods([]) : await waitForRemainingPods(mesh, kubernetes, subject, targets)
}

/** Returns the same wait as `waitForPodsOnMesh`, after templates and pods have been changed. */
export const waitForRemainingPods = async (
  { capture, enrolment: { key, value } }: Pick<Mesh, 'capture' | 'enrolment'>,
  kubernetes: Kubernetes,
  subject: Subject,
  targets: Targets,
): Promise<Condition | undefined> => {
  // a pod without the label of the application is on the mesh by its namespace, and stays there
  const isOn = (pod: KubernetesObject) => ownValue(pod.metadata.labels, key) === value && capture(pod).is !== 'off'
  const read = await unlessForbidden(podsOn(kubernetes, subject, targets, isOn))
  if ('problem' in read)
    return waitingFor(`${read.problem}: until it is known that no pod is on the mesh any more, its policies stay`)
  const names = new Set(read.value.map(({ metadata }) => metadata.name))
  return names.size > 0 ? waitingForPods([...names].toSorted()) : undefined
}

const MOST_NAMED = 3

const waitingFor = (message: string): Condition => waitFor(['pods'], 'PodsOnMesh', 'the policies of the pods', message)

const waitingForPods = (names: readonly string[]): Condition => {
  const left = names.length - MOST_NAMED
  const named = [...names.slice(0, MOST_NAMED), ...(left > 0 ? [`${left} more`] : [])]
  const which = named.length > 0 ? ` (${named.join(', ')})` : ''
  return waitingFor(`waiting for pods to be replaced that are on the mesh${which}; their policies stay until then`)
}

const allPlaces = ({ current, earlier }: Targets): LabelLocation[] => placesOf([...current, ...earlier])

/** Lists the pods that are on the mesh: those of the targets, or else those that outlive their controller. */
const podsOn = async (
  kubernetes: Kubernetes,
  { namespace, application }: Subject,
  targets: Targets,
  isOn: (pod: KubernetesObject) => boolean,
): Promise<KubernetesObject[]> => {
  const selector = `${NAME_LABEL}=${application}`
  const [own, cached] = await Promise.all([
    Promise.all(allPlaces(targets).map((place) => podsAt(kubernetes, place))),
    kubernetes.listCached('Pod', namespace, selector),
  ])
  const on = own.flat().filter(isOn)
  if (on.length > 0 || !cached.some(isOn)) return on
  const named = (await kubernetes.list('Pod', namespace, selector)).filter(isOn)
  const isOthers = await Promise.all(named.map((pod) => isOfOthers(kubernetes, targets, pod)))
  return named.filter((_, index) => !isOthers[index])
}

/** Tells if a pod belongs to an existing workload that is no target. Another application may have the same name in its labels. */
const isOfOthers = async (
  kubernetes: Kubernetes,
  { current, earlier }: Targets,
  pod: KubernetesObject,
): Promise<boolean> => {
  const controller = controllerNamed(pod)
  if (controller === undefined) return false
  const { kind, name } = controller
  if ([...current, ...earlier].some(({ target }) => target.name === name)) return false
  if (kind !== 'StatefulSet' && kind !== 'Deployment') return true
  const found = await kubernetes.find({ kind, namespace: pod.metadata.namespace, name })
  return found !== undefined && !('deletionTimestamp' in found.metadata)
}

const podsAt = async (
  kubernetes: Kubernetes,
  { object, path }: LabelLocation,
): Promise<readonly KubernetesObject[]> => {
  if (isTemplate({ path })) return hasPods(object) ? await podsOfWorkload(kubernetes, object) : []
  if (object.kind !== 'Pod') return []
  return [(await kubernetes.find(referenceTo(object))) ?? []].flat()
}

/**
 * Tells if a workload may have pods. False only if its controller has seen the current generation and counts none. A Deployment counts
 * terminating pods separately.
 */
const hasPods = ({ kind, metadata: { generation = 0 } = {}, status }: Typed<'Workload'>): boolean => {
  const { observedGeneration = 0, replicas = 0, terminatingReplicas } = status ?? {}
  const isDeleting = kind === 'Deployment' && terminatingReplicas !== 0
  return observedGeneration < generation || replicas > 0 || isDeleting
}

/** Tells if some pods of the application still run without a label of their own that puts them on the mesh. Unknown counts as such. */
export const hasPodsWithout = async (
  { enrolment: { key } }: Pick<Mesh, 'enrolment'>,
  kubernetes: Kubernetes,
  { namespace, application }: Subject,
): Promise<boolean> => {
  const read = await unlessForbidden(kubernetes.list('Pod', namespace, `${NAME_LABEL}=${application},!${key}`))
  return 'problem' in read || read.value.some((pod) => !isOver(pod))
}
