import type { Subject } from '../../platform/base/subject.ts'
import { findLookup, isUnreadable, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'
import type { MeshConfig } from './beacon-config.ts'
import { principal, telemetryLabels, waypointName } from './names.ts'
import { findTrustDomains } from './trust-domains.ts'

/** Tells if the beacon runs a waypoint. `units: 0` means none, because the API server refuses an autoscaler without pods. */
export const runsWaypoint = ({ waypoint = true, units = 1 }: MeshConfig): boolean => waypoint && units > 0

/** Lists the principals of the beacon's waypoint. Istio runs it as the ServiceAccount with the Gateway's name. */
export const waypointPrincipals = ({ namespace, application }: Subject, mesh: MeshConfig): string[] => {
  if (!runsWaypoint(mesh)) return []
  const serviceAccount = waypointName(namespace, application)
  return findTrustDomains(mesh, namespace).map((trustDomain) => principal({ trustDomain, namespace, serviceAccount }))
}

/** Builds the Gateway that Istio runs as the beacon's waypoint, and the autoscaler that fixes its number of pods. */
export const waypointObjects = (
  { namespace, application }: Subject,
  mesh: MeshConfig,
  owner: Readonly<Record<string, string>>,
): KubernetesObject[] => {
  if (!runsWaypoint(mesh)) return []
  const { units = 1 } = mesh
  const name = waypointName(namespace, application)
  const labels = { ...owner, ...telemetryLabels(application, namespace) }
  return [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name, namespace, labels: { ...labels, 'istio.io/waypoint-for': 'service' } },
      spec: {
        gatewayClassName: 'istio-waypoint',
        listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE', allowedRoutes: { namespaces: { from: 'All' } } }],
      },
    },
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name, namespace, labels },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
        minReplicas: units,
        maxReplicas: units,
      },
    },
  ]
}

/** Names the Deployment that Istio makes for the waypoint. */
export const waypointDeployment = ({ namespace, application }: Subject, mesh: MeshConfig): Reference[] =>
  runsWaypoint(mesh) ? [{ kind: 'Deployment', namespace, name: waypointName(namespace, application) }] : []

/** Tells if a pod of the waypoint serves, or if that is unknown. Istio routes to a waypoint as soon as it exists. */
export const isServing = (subject: Subject, mesh: MeshConfig, lookups: Lookups): boolean =>
  waypointDeployment(subject, mesh)
    .map(nameOf)
    .every((name) => isUnreadable(lookups, name) || readyReplicas(findLookup(lookups, name)) > 0)

const readyReplicas = (deployment: Typed<'Deployment'> | undefined): number => deployment?.status?.readyReplicas ?? 0

/** Returns the reason why the waypoint is not ready. Returns undefined if all its units are. */
export const waypointProblem = (
  name: string,
  { units = 1 }: MeshConfig,
  deployment: Typed<'Deployment'> | undefined,
): string | undefined => {
  const next = 'checked again with the next event'
  if (deployment === undefined) return `the waypoint is not ready, ${name} does not exist: is Istio installed? ${next}`
  const [ready, wanted] = [readyReplicas(deployment), Math.max(units, deployment.status?.replicas ?? 0)]
  return ready >= wanted ? undefined : `the waypoint is not ready, ${ready} of ${wanted} pods of ${name} are: ${next}`
}
