import { USE_WAYPOINT_LABEL } from '../../core/relations/mesh-labels.ts'
import { namedWaypoint } from '../../mesh/istio/names.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listReadable } from '../../platform/kubernetes/list-readable.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { podLabels, podTemplate } from '../../platform/kubernetes/pod-like.ts'
import { type Cluster, podsAndNext } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'

/** Reports waypoints of the namespace that no label names, and labels that name a missing waypoint. */
export const waypointFindings = async (kubernetes: Kubernetes, cluster: Cluster): Promise<Found[]> => [
  ...(await unusedFindings(kubernetes, cluster)),
  ...missingFindings(cluster),
]

const missingFindings = ({ gateways, home, services, workloads }: Cluster): Found[] => {
  // an unlisted waypoint may exist
  if (gateways === undefined) return []
  const templates = workloads.map((workload) => ({
    ...workload,
    metadata: { ...workload.metadata, labels: podLabels(podTemplate(workload)) },
  }))
  return [...(home ? [home] : []), ...services, ...templates].flatMap((object) =>
    waypointsOf(object)
      .filter((named) => !gateways.some((gateway) => isNamed(named, gateway)))
      .map(({ label, namespace, name }) => {
        const message = `its label ${label} names the waypoint ${namespace}/${name}, which does not exist`
        return foundIn(object, 'waypoint-missing', message)
      }),
  )
}

/** Reports unused waypoints. It reads objects of other namespaces only if a waypoint is unused in its own. */
const unusedFindings = async (kubernetes: Kubernetes, cluster: Cluster): Promise<Found[]> => {
  const { namespace, gateways = [], home, services } = cluster
  const own = gateways.filter(
    ({ metadata, spec }) => metadata.namespace === namespace && spec?.gatewayClassName === 'istio-waypoint',
  )
  const here = [...services, ...podsAndNext(cluster), ...(home ? [home] : [])]
  const idle = own.filter((gateway) => !here.some((object) => leadsTo(object, gateway)))
  if (idle.length === 0) return []
  const elsewhere = await Promise.all(KINDS.map((kind) => listReadable(kubernetes, kind, undefined)))
  // an unread object may use the waypoint
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

/** Kinds that may use a waypoint. Workloads do so by their templates. */
const KINDS = ['StatefulSet', 'Deployment', 'Namespace', 'Service', 'ServiceEntry', 'Pod'] as const

const leadsTo = (object: KubernetesObject, gateway: KubernetesObject): boolean =>
  waypointsOf(object).some((named) => isNamed(named, gateway))

type Named = { readonly label: string; readonly namespace: string; readonly name: string }

/** The waypoints that the labels of an object name. */
const waypointsOf = ({ kind, metadata }: KubernetesObject): Named[] => {
  const { name, namespace = '', labels } = metadata
  return [USE_WAYPOINT_LABEL, `${USE_WAYPOINT_LABEL}-canary`].flatMap((label) => {
    const named = namedWaypoint(labels, kind === 'Namespace' ? name : namespace, label)
    return named ? [{ label, ...named }] : []
  })
}

const isNamed = ({ namespace, name }: Named, { metadata }: KubernetesObject): boolean =>
  metadata.namespace === namespace && metadata.name === name
