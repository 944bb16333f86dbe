import { meshEndpoint } from '../../core/policies/endpoint.ts'
import type { MeshPolicy, Policy } from '../../core/policies/models.ts'
import type { Guard, RequestedPolicy } from '../../core/policies/request.ts'
import { namedService } from '../../core/policies/target.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { CoordinatorConfig } from './config.ts'
import { clusterPorts, endpointNames, selectWorkerPorts, sortedPorts } from './settings.ts'
import type { Topology } from './topology.ts'

/** The label of all pods of the cluster, including the coordinator's. */
export const partOfLabels = (application: string): Record<string, string> => ({
  'app.kubernetes.io/part-of': application,
})

/**
 * Builds the requests inside the cluster: each application reaches all pods, and workers reach the coordinator's Service. They become two objects for any
 * number of workers. All ports are open, or with `leastPrivilege` only the configured ones.
 */
export const clusterPolicies = (
  subject: Subject,
  { relations }: Topology,
  config: CoordinatorConfig,
): RequestedPolicy[] => {
  const owner = `${subject.namespace}/${subject.application}`
  const workers = relations.flatMap(({ name, applications }) =>
    applications.map((source) => ({ source, relation: `${name} of ${owner}` })),
  )
  return [
    { policy: toPods(subject, subject, config), relation: clusterRequester(subject) },
    ...workers.flatMap(({ source, relation }) =>
      [toPods(source, subject, config), ...toService(source, subject, config)].map((policy) => ({ policy, relation })),
    ),
  ]
}

/** The requester of the cluster's own policies, as named in policies. */
export const clusterRequester = ({ namespace, application }: Subject): string =>
  `cluster of ${namespace}/${application}`

/** Guards the coordinator's Service, even without workers. */
export const clusterGuard = (subject: Subject): Guard => ({
  target: namedService(subject.namespace, subject.application),
  relation: clusterRequester(subject),
})

/** Builds the requests from outside the cluster: for metrics scraping, and from the config's `policies`. */
export const externalPolicies = <P extends Policy>(
  config: CoordinatorConfig,
  policies: readonly P[],
): (Policy | P)[] => {
  const { metrics: relation } = endpointNames(config)
  const { nginxExporter, proxy } = clusterPorts(config)
  const ofWorkers = { methods: ['GET' as const], paths: ['/proxy/worker/{*}/metrics'] }
  return [
    { type: 'unit', relation, ports: [nginxExporter] },
    ...(proxy === undefined ? [] : [{ type: 'app' as const, relation, endpoints: [{ ports: [proxy], ...ofWorkers }] }]),
    ...policies,
  ]
}

/** Names workers in other namespaces, because the cluster's policies do not cover their pods. */
export const notCovered = (namespace: string, { relations }: Topology): string[] =>
  relations.flatMap(({ name, applications }) =>
    applications
      .filter((worker) => worker.namespace !== namespace)
      .map(
        (worker) =>
          `${name}: ${worker.application} is in ${worker.namespace}; it may reach the cluster, but the cluster reaches its pods only if a policy in ${worker.namespace} allows that`,
      ),
  )

/** Names workers in other namespaces that no labels put on the mesh. */
export const notEnrolled = (namespace: string, { relations }: Topology): string[] =>
  relations
    .filter((worker) => worker.namespace !== namespace)
    .map(
      (worker) =>
        `${worker.name}: it is in ${worker.namespace}, for which the beacon names no labels: it is not put on the mesh`,
    )

/** Requests access to the pods. Their selector matches the whole cluster, so a port for one worker is open at all pods. */
const toPods = (source: Subject, { namespace, application }: Subject, config: CoordinatorConfig): MeshPolicy => {
  const ports = [clusterPorts(config).workerMetrics, ...(selectWorkerPorts(config, config.roles) ?? [])]
  return {
    ...between(source, namespace),
    target_app_name: null,
    target_selector_labels: partOfLabels(application),
    target_type: 'unit',
    endpoints: config.leastPrivilege ? onPorts(ports) : [],
  }
}

/** Requests access to the coordinator's Service. Without open ports there is no request, because one without endpoints would open all. */
const toService = (source: Subject, { namespace, application }: Subject, config: CoordinatorConfig): MeshPolicy[] => {
  const policy: MeshPolicy = {
    ...between(source, namespace),
    target_app_name: application,
    target_selector_labels: null,
    target_type: 'app',
    endpoints: [],
  }
  const { leastPrivilege } = config
  if (!leastPrivilege) return [policy]
  const { proxy, grpc } = clusterPorts(config)
  const ports = [
    ...(proxy === undefined ? [] : [proxy]),
    ...grpc,
    ...(leastPrivilege === true ? [] : leastPrivilege.ports),
  ]
  return ports.length === 0 ? [] : [{ ...policy, endpoints: onPorts(ports) }]
}

const between = ({ namespace, application }: Subject, target: string) => ({
  source_namespace: namespace,
  source_app_name: application,
  target_namespace: target,
  target_service: null,
})

const onPorts = (ports: readonly number[]): MeshPolicy['endpoints'] => [meshEndpoint({ ports: sortedPorts(ports) })]
