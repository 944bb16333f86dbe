import type { KubernetesObject } from '../kubernetes/objects.ts'
import { desiredMeshLabels } from '../labels/mesh.ts'
import type { Guard, PolicyRequest } from '../policies/grant.ts'
import { pythonJson } from '../python-json.ts'
import { relationsWith } from '../relations/with.ts'
import { type EffectiveState, type Relation, relationName, type Subject } from '../state.ts'
import { endpointsName } from '../workload/objects.ts'
import { unitName } from '../workload/units.ts'
import type { CoordinatorConfig, WorkerConfig } from './config.ts'
import { coordinate } from './coordinator.ts'
import type { OwnSide } from './databag.ts'
import { clusterGuard } from './policies.ts'
import { coordinatorStatus, missingRoles, type Status } from './roles.ts'
import { endpointsOf, isTls, portsOf } from './settings.ts'
import { type Sources, sourcesOf } from './sources.ts'
import { directEndpoints, nginxConfiguration, proxiedEndpoints, type Routing } from './telemetry/routing.ts'
import { scrapeJobs } from './telemetry/scrape-jobs.ts'
import { type Topology, topologyOf } from './topology.ts'
import { work } from './worker.ts'

/** What the process knows of the cluster it runs in. */
export type Environment = {
  /** The IP address of the cluster's DNS. */
  readonly resolver: string
}

/** What belonging to a cluster of workers desires. */
export type ClusterDesire = {
  readonly objects: readonly KubernetesObject[]
  readonly requests: readonly PolicyRequest[]
  readonly guards: readonly Guard[]
  /** What this side says, by the key of the relation; of one that is not here it stays as it is. */
  readonly databags: Readonly<Record<string, OwnSide>>
  readonly messages: readonly string[]
}

const NOTHING: ClusterDesire = { objects: [], requests: [], guards: [], databags: {}, messages: [] }

/** What a coordinator desires, or a worker; nothing for every other application. */
export const clusterDesire = (subject: Subject, state: EffectiveState, environment: Environment): ClusterDesire => {
  const { coordinator, worker } = state.config ?? {}
  if (coordinator) return coordinatorDesire(subject, state, coordinator, environment)
  if (!worker) return NOTHING
  const { databags, messages } = workOf(subject, state, worker)
  return { ...NOTHING, databags, messages }
}

/** What the roles of a cluster come to for the application; undefined for one that is in none. */
export const clusterStatus = (subject: Subject, state: EffectiveState): Status | undefined => {
  const { coordinator, worker } = state.config ?? {}
  if (!coordinator) return worker && workOf(subject, state, worker).status
  const { relations, roles } = topologyOf(state.relations, subject.namespace, coordinator)
  return coordinatorStatus(relations.length > 0, missingRoles(coordinator, roles))
}

/**
 * Whether something that a cluster is made of is unknown: the mesh, a worker, or where its telemetry goes. What was made for the cluster, and
 * what was said in it, stays until that is known again.
 */
export const dependsOnUnknown = ({ config }: Pick<EffectiveState, 'config'>, unknown: readonly Relation[]): boolean =>
  config?.coordinator !== undefined && unknown.length > 0

/** Who asks for the policies inside of a cluster, and the file of its nginx, by their names. */
export const clusterRequesters = (subject: Subject, { relations }: EffectiveState): string[] => {
  const owner = `${subject.namespace}/${subject.application}`
  const workers = relationsWith(relations, { role: 'provides' }).map((relation) => relationName(relation))
  return [
    `cluster of ${owner}`,
    ...workers.map((name) => `${name} of ${owner}`),
    `ConfigMap ${subject.namespace}/${nginxName(subject)}`,
  ]
}

const nginxName = ({ application }: Subject): string => `${application}-nginx`

const workOf = (subject: Subject, state: EffectiveState, config: WorkerConfig) =>
  work({
    application: subject.application,
    config,
    relations: state.relations,
    units: workerUnits(subject, state),
  })

const coordinatorDesire = (
  subject: Subject,
  state: EffectiveState,
  config: CoordinatorConfig,
  environment: Environment,
): ClusterDesire => {
  const { relations } = state
  const topology = topologyOf(relations, subject.namespace, config)
  const routing = routingOf(subject, config, topology, sourcesOf(relations, config), environment)
  const isProxied = config.telemetryProxy !== undefined
  const coordination = coordinate({
    ...subject,
    config,
    relations,
    policies: [],
    mesh: desiredMeshLabels(state),
    endpoints: isProxied ? proxiedEndpoints(routing) : directEndpoints(routing),
    configured: new Set(Object.keys(relations).filter((key) => relations[key]?.isConfigured)),
  })
  const nginx = isProxied ? nginxConfiguration(routing) : undefined
  const scraped = scrapeJobs({
    routing,
    topology: topology.units,
    model: subject.namespace,
    proxied: isProxied,
    nginxExporterPort: portsOf(config).nginxExporter,
  })
  const metrics = relationsWith(relations, { role: 'provides', endpoint: endpointsOf(config).metrics })
  return {
    objects: nginx ? [configMap(subject, nginx.text)] : [],
    requests: coordination.meshPolicies,
    guards: coordination.meshPolicies.length > 0 ? [clusterGuard(subject)] : [],
    databags: {
      ...coordination.databags,
      ...Object.fromEntries(metrics.map(({ key }) => [key, { data: { scrape_jobs: pythonJson(scraped.jobs) } }])),
    },
    messages: [...coordination.messages, ...(nginx?.problems ?? []), ...scraped.problems],
  }
}

const routingOf = (
  { namespace, application }: Subject,
  config: CoordinatorConfig,
  { units }: Topology,
  { problems: _, ...sources }: Sources,
  { resolver }: Environment,
): Routing => ({
  namespace,
  application,
  hostname: `${application}.${namespace}.svc.cluster.local`,
  ports: config.telemetryProxy ?? { httpPort: 8080, httpsPort: 8443 },
  tls: isTls(config),
  resolver,
  workers: units,
  workerMetricsPort: portsOf(config).workerMetrics,
  ...sources,
})

/** Where the coordinator's nginx finds its configuration. */
const configMap = ({ namespace, application }: Subject, text: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: nginxName({ namespace, application }), namespace },
  data: { 'nginx.conf': text },
})

/** The headless Service of an application names its pods; Juju calls it so. */
const workerUnits = ({ namespace, application }: Subject, { units }: EffectiveState) =>
  Object.values(units.present).map(({ pod, number }) => ({
    unit: unitName(application, number),
    address: `${pod}.${endpointsName(application)}.${namespace}.svc.cluster.local`,
    charmName: application,
  }))
