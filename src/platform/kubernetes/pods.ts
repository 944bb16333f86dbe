import type { Kubernetes } from './client.ts'
import type { KubernetesObject } from './objects.ts'
import type { Typed } from './typed.ts'

/** Formats the label selector of a workload for a list call. Each workload has a selector with at least one label. */
export const formatSelector = ({ spec }: Typed<'Workload'>): string => {
  const { matchLabels = {}, matchExpressions = [] } = spec?.selector ?? {}
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  const expressions = matchExpressions.map(({ key, operator = '', values = [] }) => {
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator.toLowerCase()} (${values.join(',')})`
  })
  return [...labels, ...expressions].join(',')
}

const controllerOf = ({ metadata }: KubernetesObject) =>
  (metadata.ownerReferences ?? []).find(({ controller }) => controller === true)

/**
 * Tells if the workload controls the pod. A StatefulSet does so directly. A Deployment does so through a ReplicaSet with its name and the template's hash.
 * A Job's pod or a single pod with the same labels does not count.
 */
export const isPodOf = ({ kind, metadata }: KubernetesObject, pod: KubernetesObject): boolean => {
  const owner = controllerOf(pod)
  if (kind !== 'Deployment') return owner?.uid === metadata.uid
  return owner?.kind === 'ReplicaSet' && owner.name === `${metadata.name}-${pod.metadata.labels?.['pod-template-hash']}`
}

/** Names the controller of a pod, with a Deployment in place of its ReplicaSet. Returns undefined for a single pod. */
export const controllerNamed = (pod: KubernetesObject): { kind: string; name: string } | undefined => {
  const owner = controllerOf(pod)
  const hash = `-${pod.metadata.labels?.['pod-template-hash']}`
  return owner?.kind === 'ReplicaSet' && owner.name.endsWith(hash)
    ? { kind: 'Deployment', name: owner.name.slice(0, -hash.length) }
    : owner
}

type Seen = Pick<Typed<'Pod'>, 'metadata' | 'status'>

/** Tells if the pod runs or will run. An evicted, ended or deleted pod remains an object for some time. */
export const isLive = (pod: Seen): boolean => pod.metadata?.deletionTimestamp === undefined && !isOver(pod)

/** Tells if the pod was evicted or has ended. Other pods may still run, even while they are being deleted or wait for a node. */
export const isOver = ({ status }: Seen): boolean => ['Failed', 'Succeeded'].includes(status?.phase ?? '')

/** The limit of pods that are read by name. More pods are listed. */
const MOST_NAMED = 4

/**
 * Lists the possible names of a StatefulSet's pods, if they are few, and its controller is not removing others. Reads by name are faster: an API server
 * that lists from its cache (Kubernetes 1.31) waits up to 100 ms until the cache has all writes of the cluster.
 */
const podNames = ({ kind, metadata, spec, status }: Typed<'StatefulSet'>): string[] | undefined => {
  const { replicas = 1, ordinals } = spec ?? {}
  const { observedGeneration = 0, replicas: present = 0 } = status ?? {}
  const isSettled = observedGeneration >= (metadata?.generation ?? 0) && present <= replicas
  if (kind !== 'StatefulSet' || ordinals !== undefined || !isSettled || replicas > MOST_NAMED) return undefined
  return Array.from({ length: replicas }, (_, ordinal) => `${metadata?.name}-${ordinal}`)
}

const readPods = async (
  kubernetes: Kubernetes,
  workload: KubernetesObject,
  isWhole = false,
): Promise<KubernetesObject[]> => {
  const { namespace } = workload.metadata
  const names = isWhole ? undefined : podNames(workload)
  if (names === undefined) return await kubernetes.list('Pod', namespace, formatSelector(workload))
  const found = await Promise.all(names.map((name) => kubernetes.find({ kind: 'Pod', namespace, name })))
  return found.filter((pod) => pod !== undefined)
}

/** Reads the pods of a workload, including those that have ended or are being deleted. */
export const podsOfWorkload = async (kubernetes: Kubernetes, workload: KubernetesObject): Promise<KubernetesObject[]> =>
  (await readPods(kubernetes, workload)).filter((pod) => isPodOf(workload, pod))

/**
 * Reads the live pods of a workload, and the pods that its selector matches and nothing controls. With `isWhole` the latter are complete. Otherwise they
 * are missing if pods are read by name.
 */
export const selectedPods = async (
  kubernetes: Kubernetes,
  workload: KubernetesObject,
  isWhole = false,
): Promise<{ pods: KubernetesObject[]; unowned: KubernetesObject[] }> => {
  const live = (await readPods(kubernetes, workload, isWhole)).filter(isLive)
  return {
    pods: live.filter((pod) => isPodOf(workload, pod)),
    unowned: live.filter((pod) => controllerOf(pod) === undefined),
  }
}

/** Reads the live pods of a workload. */
export const livePods = async (kubernetes: Kubernetes, workload: KubernetesObject): Promise<KubernetesObject[]> =>
  (await selectedPods(kubernetes, workload)).pods
