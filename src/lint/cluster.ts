import { meshConfigReference, ROOT_NAMESPACE, readMeshConfig } from '../istio/mesh-config.ts'
import type { IstioVersion } from '../istio/version.ts'
import { ifPermitted, ifServed } from '../kubernetes/api-error.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { Kind, KubernetesObject } from '../kubernetes/objects.ts'
import { isLive } from '../kubernetes/pods.ts'

/** A namespace and what its findings depend on elsewhere. */
export type Cluster = {
  readonly namespace: string
  readonly home: KubernetesObject | undefined
  readonly services: readonly KubernetesObject[]
  readonly workloads: readonly KubernetesObject[]
  /** Live ones. */
  readonly pods: readonly KubernetesObject[]
  /** Of all namespaces, as far as they may be listed. */
  readonly gateways: readonly KubernetesObject[]
  /** AuthorizationPolicies of the namespace. */
  readonly policies: readonly KubernetesObject[]
  /** Those of the root namespace, where that is another one; undefined where they may not be listed. */
  readonly rootPolicies: readonly KubernetesObject[] | undefined
  readonly istio: Istio
}

export type Istio = {
  /** The ConfigMap with Istio's own config; absent where it may not be read. */
  readonly config?: KubernetesObject | undefined
  readonly rootNamespace: string
  /** Absent where Istio's own config cannot be read. */
  readonly trustDomains?: { readonly own: string; readonly aliases: readonly string[] } | undefined
  readonly version?: IstioVersion | undefined
}

/** Reads it once. Rejects where the namespace's own objects may not be listed. */
export const readCluster = async (kubernetes: Kubernetes, namespace: string): Promise<Cluster> => {
  const [home, services, statefulSets, deployments, pods, gateways, policies, istio] = await Promise.all([
    kubernetes.find({ kind: 'Namespace', name: namespace }),
    kubernetes.list('Service', namespace),
    kubernetes.list('StatefulSet', namespace),
    kubernetes.list('Deployment', namespace),
    kubernetes.list('Pod', namespace),
    readable(kubernetes.list('Gateway', undefined)),
    ifServed(kubernetes.list('AuthorizationPolicy', namespace)),
    readIstio(kubernetes),
  ])
  const isRoot = istio.rootNamespace === namespace
  const rootPolicies = isRoot ? [] : await listReadable(kubernetes, 'AuthorizationPolicy', istio.rootNamespace)
  return {
    ...{ namespace, home, services, policies: policies ?? [], istio },
    ...{ workloads: [...statefulSets, ...deployments], pods: pods.filter(isLive) },
    ...{ gateways: gateways ?? [], rootPolicies },
  }
}

const readIstio = async (kubernetes: Kubernetes): Promise<Istio> => {
  const config = await readable(kubernetes.find(meshConfigReference()))
  const read = config && readMeshConfig(config)
  if (read === undefined) return { rootNamespace: ROOT_NAMESPACE }
  const { rootNamespace, trustDomain: own, trustDomainAliases: aliases, version } = read
  return { config, rootNamespace, trustDomains: { own, aliases }, version }
}

/** Undefined where it may not be read, or its kind is not known. */
const readable = async <T>(reading: Promise<T>): Promise<T | undefined> => await ifPermitted(ifServed(reading))

/** Lists a kind in a namespace, or in all; undefined where that may not be done. There is none of a kind that is not served. */
export const listReadable = async (
  kubernetes: Kubernetes,
  kind: Kind,
  namespace: string | undefined,
): Promise<readonly KubernetesObject[] | undefined> =>
  await ifPermitted(ifServed(kubernetes.list(kind, namespace)).then((objects) => objects ?? []))
