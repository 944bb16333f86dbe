import { type MeshMember, ROOT_NAMESPACE, readMeshConfig } from '../../mesh/istio/mesh-config.ts'
import type { IstioVersion } from '../../mesh/istio/version.ts'
import { ifServed } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listReadable } from '../../platform/kubernetes/list-readable.ts'
import { lookupsOf } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf } from '../../platform/kubernetes/objects.ts'
import { isLive } from '../../platform/kubernetes/pods.ts'
import { meshMembers, readMeshConfigs } from '../authorization/observe.ts'

/** A namespace, and the objects elsewhere on which its findings depend. */
export type Cluster = {
  readonly namespace: string
  readonly home: KubernetesObject | undefined
  readonly services: readonly KubernetesObject[]
  readonly workloads: readonly KubernetesObject[]
  /** The live pods. */
  readonly pods: readonly KubernetesObject[]
  /** The Gateways of all namespaces. Undefined if they may not be listed. */
  readonly gateways: readonly KubernetesObject[] | undefined
  /** AuthorizationPolicies of the namespace. */
  readonly policies: readonly KubernetesObject[]
  /** The AuthorizationPolicies of the root namespace, unless it is this namespace. Undefined if they may not be listed. */
  readonly rootPolicies: readonly KubernetesObject[] | undefined
  /** PeerAuthentications of the namespace. Undefined if they may not be listed. */
  readonly peerAuthentications: readonly KubernetesObject[] | undefined
  readonly istio: Istio
  /** Sentences about objects that may not be read. */
  readonly unread: readonly string[]
}

export type Istio = {
  /** The ConfigMap with Istio's own config. Absent if it is not known. */
  readonly config?: KubernetesObject | undefined
  readonly rootNamespace: string
  /** The reason why Istio's own config is not known. Then the root namespace is a guess. */
  readonly unknown?: string | undefined
  /** Absent if Istio's own config is not known. */
  readonly trustDomains?: { readonly own: string; readonly aliases: readonly string[] } | undefined
  readonly version?: IstioVersion | undefined
}

/** Reads the namespace once. Rejects if the namespace's own objects may not be listed. */
export const readCluster = async (kubernetes: Kubernetes, namespace: string): Promise<Cluster> => {
  const [home, services, statefulSets, deployments, pods, gateways, policies, peerAuthentications] = await Promise.all([
    kubernetes.find({ kind: 'Namespace', name: namespace }),
    kubernetes.list('Service', namespace),
    kubernetes.list('StatefulSet', namespace),
    kubernetes.list('Deployment', namespace),
    kubernetes.list('Pod', namespace),
    listReadable(kubernetes, 'Gateway', undefined),
    ifServed(kubernetes.list('AuthorizationPolicy', namespace)),
    listReadable(kubernetes, 'PeerAuthentication', namespace),
  ])
  const istio = await readIstio(kubernetes, meshMembers(namespace, home, services), [
    ...(home ? [home] : []),
    ...(gateways ?? []),
  ])
  const isRoot = istio.rootNamespace === namespace
  const rootPolicies = isRoot ? [] : await listReadable(kubernetes, 'AuthorizationPolicy', istio.rootNamespace)
  return {
    ...{ namespace, home, services, policies: policies ?? [], istio },
    ...{ workloads: [...statefulSets, ...deployments], pods: pods.filter(isLive) },
    ...{ gateways, rootPolicies, peerAuthentications },
    unread: [
      ...(gateways ? [] : [unlisted('Gateways of all namespaces')]),
      ...(peerAuthentications ? [] : [unlisted(`PeerAuthentications of ${namespace}`)]),
      ...(rootPolicies ? [] : [unlisted(`AuthorizationPolicies of ${istio.rootNamespace}`)]),
    ],
  }
}

/** Reports that objects may not be listed. */
export const unlisted = (objects: string): string =>
  `${objects} may not be listed: findings that depend on them are missing`

/** Reports that an object may not be read. */
export const unreadable = (reference: Parameters<typeof nameOf>[0]): string =>
  `${nameOf(reference)} may not be read: findings that depend on it are missing`

/** Reads the config of the istiod that decides in the namespace. Of several, as waypoints may choose another one, that of the namespace counts. */
const readIstio = async (
  kubernetes: Kubernetes,
  members: readonly MeshMember[],
  known: readonly KubernetesObject[],
): Promise<Istio> => {
  const { configs, unknown } = await readMeshConfigs(kubernetes, members, undefined, lookupsOf(known))
  const [config] = configs
  const read = config && readMeshConfig(config)
  if (read === undefined || unknown !== undefined) return { rootNamespace: ROOT_NAMESPACE, unknown }
  const { rootNamespace, trustDomain: own, trustDomainAliases: aliases, version } = read
  return { config, rootNamespace, trustDomains: { own, aliases }, version }
}

/** Makes the next pod of a workload from its template. The workload may have no pods at the moment. */
export const nextPod = ({ metadata: { name, namespace }, spec }: KubernetesObject): KubernetesObject => {
  const { metadata, ...rest }: Partial<KubernetesObject> = spec?.template ?? {}
  return { ...rest, apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name, ...(namespace && { namespace }) } }
}

/** Lists the live pods, and the next pod of each workload. */
export const podsAndNext = ({ pods, workloads }: Pick<Cluster, 'pods' | 'workloads'>): KubernetesObject[] => [
  ...pods,
  ...workloads.map(nextPod),
]
