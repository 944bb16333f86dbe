import { isDeepStrictEqual } from 'node:util'
import { ENROLMENT_LABEL } from '../../../core/relations/mesh-labels.ts'
import { desiredReplicas } from '../../../core/workload/health.ts'
import { withMark } from '../../../mesh/istio/capture.ts'
import type { Kind, KubernetesObject, Reference } from '../../../platform/kubernetes/objects.ts'
import { podTemplate } from '../../../platform/kubernetes/pod-like.ts'
import { isLive, isPodOf } from '../../../platform/kubernetes/pods.ts'
import { reasonToStay } from '../../../platform/kubernetes/rollout.ts'
import type { Typed } from '../../../platform/kubernetes/typed.ts'

type Cluster = {
  find(reference: Reference): Promise<KubernetesObject | undefined>
  /** Lists a kind in a namespace, as far as that is permitted. */
  read(kind: Kind, namespace: string | undefined): Promise<readonly KubernetesObject[]>
  /** Tells if Istio's CNI marks the pods that it captures. */
  isMarking(): boolean
}

type Consequences = { readonly gone: readonly KubernetesObject[]; readonly put: readonly KubernetesObject[] }

const NONE: Consequences = { gone: [], put: [] }

/** Returns what a cluster does by itself after a write, as far as steps and questions see it. An object is undefined where it does not exist. */
export const consequencesOf = async (
  previous: KubernetesObject | undefined,
  object: KubernetesObject | undefined,
  cluster: Cluster,
): Promise<Consequences> => {
  const { kind, metadata } = (object ?? previous) as KubernetesObject
  const { namespace, name } = metadata
  const owned = object === undefined ? await ownedBy(previous as KubernetesObject, cluster) : []
  if (kind === 'StatefulSet' || kind === 'Deployment') {
    const { gone, put } = podsAfter(previous, object, await cluster.read('Pod', namespace))
    return { gone: [...gone, ...owned], put }
  }
  if (object === undefined) return { gone: owned, put: [] }
  if (kind === 'Gateway' || kind === 'HorizontalPodAutoscaler') return await waypointOf(namespace, name, cluster)
  const isConcerned =
    kind === 'Pod' || (kind === 'Namespace' && !isDeepStrictEqual(previous?.metadata.labels, metadata.labels))
  if (!isConcerned || !cluster.isMarking()) return NONE
  if (kind === 'Namespace') return { gone: [], put: marked(await cluster.read('Pod', name), object) }
  return { gone: [], put: marked([object], await cluster.find({ kind: 'Namespace', name: namespace })) }
}

const marked = (pods: readonly KubernetesObject[], home: KubernetesObject | undefined): KubernetesObject[] =>
  pods.map((pod) => withMark(pod, home?.metadata.labels))

/** Kinds that decide, or that make pods which do. */
const OWNED = ['AuthorizationPolicy', 'PeerAuthentication', 'Gateway', 'Deployment', 'StatefulSet', 'Service'] as const

/** Kinds that steps delete often, and that own nothing which decides. */
const CHILDLESS = ['Pod', 'AuthorizationPolicy', 'HorizontalPodAutoscaler', 'PodDisruptionBudget']

/** Lists what goes with a deleted object, as it has no other owner. */
const ownedBy = async ({ kind, metadata }: KubernetesObject, { read }: Cluster): Promise<KubernetesObject[]> => {
  const { uid, namespace } = metadata
  if (uid === undefined || namespace === undefined || CHILDLESS.includes(kind)) return []
  const all = await Promise.all(OWNED.map((one) => read(one, namespace)))
  const isOwned = ({ metadata: { ownerReferences = [] } }: KubernetesObject) =>
    ownerReferences.length > 0 && ownerReferences.every((owner) => owner.uid === uid)
  return all.flat().filter(isOwned)
}

/** Returns the pods of a workload as its controller makes them, and the workload's status. New pods are as healthy as the earlier ones. */
const podsAfter = (
  previous: KubernetesObject | undefined,
  workload: KubernetesObject | undefined,
  all: readonly KubernetesObject[],
): Consequences => {
  const pods = all.filter((pod) => isLive(pod) && isPodOf((workload ?? previous) as KubernetesObject, pod))
  if (workload === undefined) return { gone: pods, put: [] }
  const isSame = previous !== undefined && isDeepStrictEqual(podTemplate(previous), podTemplate(workload))
  const replicas = desiredReplicas(workload)
  if (isSame && replicas === desiredReplicas(previous)) return NONE
  const isOrdered = workload.kind === 'StatefulSet'
  const names = namesOf(workload, Math.min(replicas, MOST_PODS))
  const staying = pods
    .filter((pod) => isSame || reasonToStay(workload, pod) !== undefined)
    .filter((pod) => !isOrdered || names.includes(pod.metadata.name))
    .slice(0, replicas)
  const taken = new Set(staying.map(({ metadata }) => metadata.name))
  const missing = isOrdered ? names.filter((name) => !taken.has(name)) : names.slice(staying.length)
  // a paused Deployment grows by pods of the template that it had
  const source = workload.spec?.paused === true && previous ? previous : workload
  const statusOf = (name: string, index: number) =>
    (pods.find(({ metadata }) => metadata.name === name) ?? pods[index])?.status
  const made = missing.map((name, index) => podOf(source, name, statusOf(name, index)))
  return {
    gone: pods.filter((pod) => !staying.includes(pod)),
    put: [...made, withStatus(previous, workload, replicas, isSame ? outdatedIn(previous) : staying.length)],
  }
}

const outdatedIn = ({ status }: Typed<'Workload'>): number => (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0)

/** A real cluster runs out of nodes. */
const MOST_PODS = 500

const PLANNED = 'planned'

const namesOf = ({ kind, metadata, spec }: Typed<'Workload'> & KubernetesObject, replicas: number): string[] => {
  const isOrdered = kind === 'StatefulSet'
  const start = isOrdered ? (spec?.ordinals?.start ?? 0) : 0
  const base = isOrdered ? metadata.name : `${replicaSet(metadata)}-${metadata.generation}`
  return Array.from({ length: replicas }, (_, index) => `${base}-${start + index}`)
}

const replicaSet = ({ name }: KubernetesObject['metadata']): string => `${name}-${PLANNED}`

const podOf = (workload: KubernetesObject, name: string, status: KubernetesObject['status']): KubernetesObject => {
  const { metadata, spec } = podTemplate(workload)
  const { namespace, uid = '' } = workload.metadata
  const isOrdered = workload.kind === 'StatefulSet'
  const owner = isOrdered
    ? { kind: 'StatefulSet', name: workload.metadata.name }
    : { kind: 'ReplicaSet', name: replicaSet(workload.metadata) }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...(metadata?.annotations && { annotations: metadata.annotations }),
      ...{ name, ...(namespace && { namespace }) },
      labels: {
        ...metadata?.labels,
        ...(isOrdered ? { 'statefulset.kubernetes.io/pod-name': name } : { 'pod-template-hash': PLANNED }),
      },
      ownerReferences: [{ apiVersion: 'apps/v1', ...owner, uid, controller: true }],
    },
    spec: { ...spec },
    status: status ?? { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

const withStatus = (
  previous: Typed<'Workload'> | undefined,
  workload: KubernetesObject,
  replicas: number,
  outdated: number,
): KubernetesObject => {
  const { readyReplicas = 0, availableReplicas = 0 } = previous?.status ?? {}
  const isWell = previous === undefined || availableReplicas >= desiredReplicas(previous)
  const ready = isWell ? replicas : Math.min(readyReplicas, replicas)
  const counts = { replicas, updatedReplicas: replicas - outdated, readyReplicas: ready, availableReplicas: ready }
  const { generation: observedGeneration } = workload.metadata
  return { ...workload, status: { ...workload.status, ...counts, observedGeneration } }
}

const NAME_LABEL = 'gateway.networking.k8s.io/gateway-name'

/** Returns the workload that Istio runs for a waypoint, and the Gateway's status, as if nothing failed. */
const waypointOf = async (namespace: string | undefined, name: string, { find }: Cluster): Promise<Consequences> => {
  const gateway = await find({ kind: 'Gateway', namespace, name })
  if (gateway?.spec?.gatewayClassName !== 'istio-waypoint') return NONE
  const { metadata, apiVersion, kind } = gateway
  const scaled = (await find({ kind: 'HorizontalPodAutoscaler', namespace, name }))?.spec?.minReplicas
  const live = await find({ kind: 'Deployment', namespace, name })
  const labels = {
    ...live?.metadata.labels,
    ...metadata.labels,
    [NAME_LABEL]: name,
    'gateway.istio.io/managed': 'istio.io-mesh-controller',
  }
  const podLabels = { [ENROLMENT_LABEL]: 'none', ...labels }
  const observedGeneration = metadata.generation
  const conditions = ['Accepted', 'Programmed'].map((type) => ({
    type,
    status: 'True',
    reason: type,
    observedGeneration,
  }))
  const addresses = [{ type: 'Hostname', value: `${name}.${namespace}.svc.cluster.local` }]
  const made = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    ...live,
    metadata: {
      ...(live?.metadata ?? { name, ...(namespace && { namespace }) }),
      labels,
      ownerReferences: [{ apiVersion, kind, name, uid: metadata.uid ?? '' }],
    },
    spec: {
      selector: { matchLabels: { [NAME_LABEL]: name } },
      template: { metadata: { labels: podLabels }, spec: { serviceAccountName: name, containers: [] } },
      ...live?.spec,
      replicas: typeof scaled === 'number' ? scaled : 1,
    },
  }
  return { gone: [], put: [made, { ...gateway, status: { addresses, conditions } }] }
}
