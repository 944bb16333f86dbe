import type { Kubernetes } from './client.ts'
import type { KubernetesObject } from './objects.ts'

type Owner = { kind: string; name: string; uid: string; controller?: boolean }

type Selector = {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}

/** Formats the label selector of a workload for a list call. A workload always has one that is not empty. */
export const formatSelector = ({ spec }: KubernetesObject): string => {
  const { matchLabels = {}, matchExpressions = [] } = (spec?.selector ?? {}) as Selector
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator.toLowerCase()} (${values.join(',')})`
  })
  return [...labels, ...expressions].join(',')
}

/**
 * Tells if the workload controls the pod. A StatefulSet does so itself, a Deployment through a ReplicaSet named after it and the
 * template's hash; a pod with the same labels of a Job, or started by hand, is not part of it.
 */
export const isPodOf = ({ kind, metadata }: KubernetesObject, pod: KubernetesObject): boolean => {
  const owner = ((pod.metadata.ownerReferences ?? []) as Owner[]).find(({ controller }) => controller === true)
  if (kind !== 'Deployment') return owner?.uid === metadata.uid
  return owner?.kind === 'ReplicaSet' && owner.name === `${metadata.name}-${pod.metadata.labels?.['pod-template-hash']}`
}

/** Tells if the pod runs or is to run. One that was evicted, has ended or is being deleted stays an object for some time. */
export const isLive = ({ metadata, status }: { metadata: object; status?: object | undefined }): boolean =>
  !('deletionTimestamp' in metadata && metadata.deletionTimestamp) &&
  !(status !== undefined && 'phase' in status && (status.phase === 'Failed' || status.phase === 'Succeeded'))

/** Lists the live pods of a workload. */
export const livePods = async (kubernetes: Kubernetes, workload: KubernetesObject): Promise<KubernetesObject[]> => {
  const pods = await kubernetes.list('Pod', workload.metadata.namespace, formatSelector(workload))
  return pods.filter((pod) => isLive(pod) && isPodOf(workload, pod))
}
