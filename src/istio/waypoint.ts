import type { Subject } from '../base/subject.ts'
import type { KubernetesObject, Reference } from '../kubernetes/objects.ts'
import type { MeshConfig } from './config.ts'
import { principal, telemetryLabels, waypointName } from './names.ts'
import { findTrustDomains } from './trust-domains.ts'

/** Whether the beacon runs a waypoint: the API server refuses an autoscaler of no pods. */
export const runsWaypoint = ({ waypoint = true, units = 1 }: MeshConfig): boolean => waypoint && units > 0

/** The identities of the beacon's waypoint: Istio runs it as the ServiceAccount of the Gateway's name. None where it runs none. */
export const waypointPrincipals = ({ namespace, application }: Subject, mesh: MeshConfig): string[] => {
  if (!runsWaypoint(mesh)) return []
  const serviceAccount = waypointName(namespace, application)
  return findTrustDomains(mesh, namespace).map((trustDomain) => principal({ trustDomain, namespace, serviceAccount }))
}

/** The Gateway that Istio runs as the beacon's waypoint, and what keeps its number of pods. */
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

/** What Istio runs the waypoint as. */
export const waypointDeployment = ({ namespace, application }: Subject, mesh: MeshConfig): Reference[] =>
  runsWaypoint(mesh) ? [{ kind: 'Deployment', namespace, name: waypointName(namespace, application) }] : []

/** Why the waypoint does not serve yet; undefined when all of its pods are ready, as many as it has units. */
export const waypointProblem = (
  name: string,
  { units = 1 }: MeshConfig,
  deployment: KubernetesObject | undefined,
): string | undefined => {
  const next = 'it is looked at again with the next event'
  if (deployment === undefined) return `the waypoint is not ready, ${name} does not exist: is Istio installed? ${next}`
  const { replicas = 0, readyReplicas = 0 } = (deployment.status ?? {}) as { replicas?: number; readyReplicas?: number }
  const wanted = Math.max(units, replicas)
  if (readyReplicas >= wanted) return undefined
  return `the waypoint is not ready, ${readyReplicas} of ${wanted} pods of ${name} are: ${next}`
}
