import type { Subject } from '../base/subject.ts'
import { meshEndpoint } from '../istio/endpoint.ts'
import type { Guard, PolicyRequest } from '../istio/grant.ts'
import type { MeshPolicy, Policy } from '../istio/models.ts'
import { serviceOf } from '../istio/target.ts'
import type { CoordinatorConfig } from './config.ts'
import { endpointsOf, inOrder, portsOf, workerPortsOf } from './settings.ts'
import type { Topology } from './topology.ts'

/** The label of all pods of the cluster, the coordinator's among them. */
export const partOf = (application: string): Record<string, string> => ({ 'app.kubernetes.io/part-of': application })

/**
 * What the cluster needs inside: each of its applications may reach all of its pods, and the workers the coordinator's Service. As
 * objects these are two, however many workers there are. All ports are open, but with `leastPrivilege` only the configured ones.
 */
export const clusterPolicies = (
  subject: Subject,
  { relations }: Topology,
  config: CoordinatorConfig,
): PolicyRequest[] => {
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

/** Who asks for what the cluster itself needs, as it is named on policies. */
export const clusterRequester = ({ namespace, application }: Subject): string =>
  `cluster of ${namespace}/${application}`

/** The coordinator's Service, which is the cluster's own also while it has no workers. */
export const clusterGuard = (subject: Subject): Guard => ({
  target: serviceOf(subject.namespace, subject.application),
  relation: clusterRequester(subject),
})

/** Who may reach the coordinator from outside the cluster: those that scrape metrics, and whom the author's `policies` name. */
export const externalPolicies = (config: CoordinatorConfig, policies: readonly Policy[]): Policy[] => {
  const { metrics: relation } = endpointsOf(config)
  const { nginxExporter, proxy } = portsOf(config)
  const ofWorkers = { methods: ['GET' as const], paths: ['/proxy/worker/{*}/metrics'] }
  return [
    { type: 'unit', relation, ports: [nginxExporter] },
    ...(proxy === undefined ? [] : [{ type: 'app' as const, relation, endpoints: [{ ports: [proxy], ...ofWorkers }] }]),
    ...policies,
  ]
}

/** What the policies cannot do: they guard pods of the coordinator's namespace alone. */
export const notCovered = (namespace: string, { relations }: Topology): string[] =>
  relations.flatMap(({ name, applications }) =>
    applications
      .filter((worker) => worker.namespace !== namespace)
      .map(
        (worker) =>
          `${name}: ${worker.application} is in ${worker.namespace}; it may reach the cluster, but the cluster reaches its pods only if a policy in ${worker.namespace} allows that`,
      ),
  )

/** A selector knows no application: what is open for one worker is open at all pods of the cluster. */
const toPods = (source: Subject, { namespace, application }: Subject, config: CoordinatorConfig): MeshPolicy => {
  const ports = [portsOf(config).workerMetrics, ...(workerPortsOf(config, config.roles) ?? [])]
  return {
    ...between(source, namespace),
    target_app_name: null,
    target_selector_labels: partOf(application),
    target_type: 'unit',
    endpoints: config.leastPrivilege ? onPorts(ports) : [],
  }
}

/** No policy where no port is to be open: one without endpoints would open all. */
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
  const { proxy, grpc } = portsOf(config)
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

const onPorts = (ports: readonly number[]): MeshPolicy['endpoints'] => [meshEndpoint({ ports: inOrder(ports) })]
