import { ownValue } from '../base/own-value.ts'
import { USE_WAYPOINT_LABEL } from '../istio/names.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { type Cluster, listReadable, podsAndNext } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'

/** Waypoints of the namespace that no label names. Those of other namespaces are read only where one may count, and may be. */
export const waypointFindings = async (kubernetes: Kubernetes, cluster: Cluster): Promise<Found[]> => {
  const { namespace, gateways = [], home, services } = cluster
  const own = gateways.filter(
    ({ metadata, spec }) => metadata.namespace === namespace && spec?.gatewayClassName === 'istio-waypoint',
  )
  const here = [...services, ...podsAndNext(cluster), ...(home ? [home] : [])]
  const idle = own.filter((gateway) => !here.some((object) => leadsTo(object, gateway)))
  if (idle.length === 0) return []
  const elsewhere = await Promise.all(KINDS.map((kind) => listReadable(kubernetes, kind, undefined)))
  // what may not be read may lead there
  if (elsewhere.includes(undefined)) return []
  const [statefulSets = [], deployments = [], ...others] = elsewhere
  const naming = [
    ...others.flatMap((objects) => objects ?? []),
    ...podsAndNext({ pods: [], workloads: [...statefulSets, ...deployments] }),
  ]
  return idle
    .filter((gateway) => !naming.some((object) => leadsTo(object, gateway)))
    .map((gateway) =>
      foundIn(gateway, 'waypoint-unused', 'no label of a Service, a ServiceEntry, a pod or a Namespace names it'),
    )
}

/** Those that may lead to a waypoint; workloads by their templates. */
const KINDS = ['StatefulSet', 'Deployment', 'Namespace', 'Service', 'ServiceEntry', 'Pod'] as const

const leadsTo = ({ kind, metadata }: KubernetesObject, gateway: KubernetesObject): boolean => {
  const home = kind === 'Namespace' ? metadata.name : metadata.namespace
  return [USE_WAYPOINT_LABEL, `${USE_WAYPOINT_LABEL}-canary`].some(
    (label) =>
      ownValue(metadata.labels, label) === gateway.metadata.name &&
      (ownValue(metadata.labels, `${label}-namespace`) ?? home) === gateway.metadata.namespace,
  )
}
