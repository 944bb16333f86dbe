import { createHash } from 'node:crypto'
import type { Environment, OwnSide } from '../../core/feature/feature.ts'
import type { Guard, RequestedPolicy } from '../../core/policies/request.ts'
import { desiredMeshLabels } from '../../core/relations/requested-labels.ts'
import type { ResolvedRelations } from '../../core/relations/resolve-relations.ts'
import { relationName, relationsIn, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { unitName } from '../../core/units/units.ts'
import { endpointsName } from '../../core/workload/objects.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { bounded, MOST_BYTES, routeBytes } from './bounds.ts'
import { type Authorities, collectAuthorities } from './certificates.ts'
import type { CoordinatorConfig, WorkerConfig } from './config.ts'
import { coordinate } from './coordinator.ts'
import { withFullName } from './full-names.ts'
import { AUTHORITIES_FILE } from './nginx/http.ts'
import { directEndpoints, nginxConfiguration, proxiedEndpoints, type Routing } from './nginx/routing.ts'
import type { CoordinatorUnit, JujuTopology } from './nginx/scrape-jobs.ts'
import { clusterGuard } from './policies.ts'
import { publishedTelemetry } from './published-telemetry.ts'
import { type ClusterStatus, coordinatorStatus } from './roles.ts'
import { clusterPorts, isTls } from './settings.ts'
import { readSources } from './sources.ts'
import { NGINX_HASH, type Surroundings } from './surroundings.ts'
import { findTopology, type Topology } from './topology.ts'
import { workerDesiredState } from './worker.ts'
import type { WorkerUnit } from './worker-relation.ts'

/** The desired state of a coordinator or worker. */
export type ClusterDesiredState = {
  readonly objects: readonly KubernetesObject[]
  readonly requests: readonly RequestedPolicy[]
  readonly guards: readonly Guard[]
  /** Published databags by relation key. A missing relation keeps its published data. */
  readonly databags: Readonly<Record<string, OwnSide>>
  /** Problems in what relations tell. */
  readonly unserved: readonly string[]
  readonly messages: readonly string[]
  /** Missing preconditions, each as a sentence. */
  readonly waiting: readonly Condition[]
  /** Annotations for the template of the application's pods. */
  readonly annotations: Readonly<Record<string, string>>
}

const NOTHING: ClusterDesiredState = {
  objects: [],
  requests: [],
  guards: [],
  databags: {},
  unserved: [],
  messages: [],
  waiting: [],
  annotations: {},
}

/** Derives the desired state of a coordinator or worker. It is empty for any other application. */
export const clusterDesiredState = (
  subject: Subject,
  state: EffectiveState,
  surroundings: Surroundings,
): ClusterDesiredState => {
  const { coordinator, worker } = state.config ?? {}
  if (coordinator) return coordinatorDesiredState(subject, state, coordinator, surroundings)
  if (!worker) return NOTHING
  const { databags, unserved } = findWorkerState(subject, state, worker, surroundings)
  return { ...NOTHING, databags, unserved }
}

/** Returns the status of a coordinator or worker, or undefined for any other application. */
export const clusterStatus = (subject: Subject, state: EffectiveState): ClusterStatus | undefined => {
  const { coordinator, worker } = state.config ?? {}
  if (!coordinator) return worker && findWorkerState(subject, state, worker).status
  const { relations, roles } = findTopology(state.relations, subject.namespace, coordinator)
  return coordinatorStatus(coordinator, relations.length > 0, roles)
}

/**
 * Tells if a part of the cluster is unknown: the mesh, a worker, or the target of its telemetry. Objects and published data of the cluster then stay until
 * everything is known again.
 */
export const dependsOnUnknown = ({ state, unknown }: ResolvedRelations): boolean =>
  state.config?.coordinator !== undefined && unknown.peers.length > 0

/** Lists the requesters of the cluster's policies, and its nginx file. */
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

const findWorkerState = (
  subject: Subject,
  state: EffectiveState,
  config: WorkerConfig,
  environment?: Pick<Environment, 'clusterDomain'>,
) =>
  workerDesiredState({
    application: subject.application,
    config,
    relations: state.relations,
    units: podUnits(subject, state, config, environment).map(({ unit, hostname }) => ({
      unit,
      address: hostname,
      charmName: config.charm ?? subject.application,
    })),
  })

const coordinatorDesiredState = (
  subject: Subject,
  state: EffectiveState,
  config: CoordinatorConfig,
  surroundings: Surroundings,
): ClusterDesiredState => {
  const { relations } = state
  const topology = findTopology(relations, subject.namespace, config)
  const authorities = collectAuthorities(relations, config)
  const { routing, workers, problems } = routeTelemetry(subject, state, config, { topology, authorities, surroundings })
  const { isProxied } = routing
  const nginx = isProxied || config.nginx ? nginxConfiguration(routing) : undefined
  const file = nginx && nginxFile(nginx.text, authorities)
  const isLate = file !== undefined && config.reload === true && isMissing(file.hash, surroundings)
  const coordination = coordinate({
    ...subject,
    config,
    relations,
    mesh: desiredMeshLabels(state),
    endpoints: isProxied ? proxiedEndpoints(routing) : directEndpoints(routing),
    configured: new Set(
      relationsIn(state, ({ ownData }) => ownData !== undefined && !ownData.partial).map(({ key }) => key),
    ),
  })
  const published = publishedTelemetry({
    relations,
    config,
    routing,
    workers,
    topology,
    coordinator: jujuTopology(subject, config, surroundings),
    coordinatorUnits: podUnits(subject, state, config, surroundings),
  })
  const databags = { ...coordination.databags, ...published.databags }
  const kept = isLate ? TELEMETRY_KEYS : []
  return {
    objects: file ? [configMap(subject, file.data)] : [],
    requests: coordination.meshPolicies,
    guards: coordination.meshPolicies.length > 0 ? [clusterGuard(subject)] : [],
    databags: mapValues(databags, (own) => ({ ...own, kept })),
    unserved: coordination.unserved,
    messages: [
      ...coordination.messages,
      ...problems,
      ...authorities.problems,
      ...(nginx?.problems ?? []),
      ...published.problems,
      ...reloadProblems(state),
    ],
    waiting: isLate
      ? [
          waitFor(
            ['pods'],
            'AddressesLate',
            'the addresses of the cluster',
            `the pods of ${subject.namespace}/${subject.application}: not all have the present nginx.conf`,
          ),
        ]
      : [],
    annotations: file && config.reload ? { [NGINX_HASH]: file.hash } : {},
  }
}

const jujuTopology = (
  { namespace, application }: Subject,
  config: CoordinatorConfig,
  { modelUuid }: Surroundings,
): JujuTopology => ({
  model: namespace,
  modelUuid: config.modelUuid ?? modelUuid,
  application,
  charm: config.charm ?? application,
})

/** The keys with routes. They keep their values until nginx serves the new routes. */
const TELEMETRY_KEYS = [
  'loki_endpoints',
  'remote_write_endpoints',
  'charm_tracing_receivers',
  'workload_tracing_receivers',
  'scrape_jobs',
] as const

/** Reports that the template does not restart pods that are labelled in place. */
const reloadProblems = ({ config }: EffectiveState): string[] =>
  config?.coordinator?.reload && config.enrolment === 'in-place'
    ? [
        'coordinator.reload: expected enrolment rolling: with in-place nothing restarts the pods, and routes are published at once',
      ]
    : []

const isMissing = (hash: string, { nginxHashes = [] }: Surroundings): boolean =>
  nginxHashes.some((loaded) => loaded !== hash)

const mapValues = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

type File = { readonly data: Readonly<Record<string, string>>; readonly hash: string }

const nginxFile = (text: string, { pem }: Authorities): File => {
  const data = { 'nginx.conf': text, ...(pem !== undefined && { [AUTHORITIES_FILE]: pem }) }
  return { data, hash: createHash('sha256').update(Object.values(data).join('\0')).digest('hex').slice(0, 16) }
}

type RoutingInput = {
  readonly topology: Topology
  readonly authorities: Authorities
  readonly surroundings: Surroundings
}

type RoutedTelemetry = {
  readonly routing: Routing & { readonly isProxied: boolean }
  readonly workers: readonly (WorkerUnit & { readonly roles: readonly string[] })[]
  readonly problems: readonly string[]
}

const routeTelemetry = (
  { namespace, application }: Subject,
  { relations }: EffectiveState,
  config: CoordinatorConfig,
  { topology, authorities, surroundings }: RoutingInput,
): RoutedTelemetry => {
  const domain = clusterDomain(config, surroundings)
  const isProxied = config.telemetryProxy !== undefined
  const complete = (url: string, home = namespace) => withFullName(url, { namespaces: [home, namespace], domain })
  const { problems, ...sources } = readSources(relations, config, isProxied ? complete : undefined)
  const workers = bounded(
    topology.relations.map(({ name, units, roles }) => ({
      relation: name,
      items: units.map((unit) => ({ ...unit, roles })),
    })),
    ({ address }) => routeBytes(address),
    MOST_BYTES.workers,
  )
  const verified = authorities.pem !== undefined
  return {
    routing: {
      namespace,
      application,
      hostname: `${application}.${namespace}.svc.${domain}`,
      ports: config.telemetryProxy ?? { httpPort: 8080, httpsPort: 8443 },
      tls: isTls(config),
      certificate: certificateFiles(config),
      verified,
      isProxied,
      gateway: config.nginx && {
        gateway: config.nginx,
        units: workers.items,
        metaRoles: config.metaRoles ?? {},
        tls: isTls(config),
        verified,
      },
      resolver: surroundings.resolver,
      workers: workers.items,
      workerMetricsPort: clusterPorts(config).workerMetrics,
      ...sources,
    },
    workers: workers.items,
    problems: [...problems, ...workers.problems],
  }
}

/** Names the files of a certificate. A Secret of type kubernetes.io/tls has its own file names. */
const certificateFiles = ({ tls }: CoordinatorConfig) =>
  typeof tls === 'object' && 'secret' in tls ? { certificate: 'tls.crt', key: 'tls.key' } : undefined

/** Builds the ConfigMap with the coordinator's nginx.conf. */
const configMap = ({ namespace, application }: Subject, data: Readonly<Record<string, string>>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: nginxName({ namespace, application }), namespace },
  data: { ...data },
})

type PodNames = Pick<WorkerConfig, 'headlessService' | 'clusterDomain'>

const clusterDomain = (config: PodNames, environment: Pick<Environment, 'clusterDomain'> = {}): string =>
  config.clusterDomain ?? environment.clusterDomain ?? 'cluster.local'

/** Lists the application's units, with the names of their pods from the headless Service. */
const podUnits = (
  { namespace, application }: Subject,
  { units }: EffectiveState,
  config: PodNames,
  environment?: Pick<Environment, 'clusterDomain'>,
): CoordinatorUnit[] => {
  const service = `${config.headlessService ?? endpointsName(application)}.${namespace}.svc.${clusterDomain(config, environment)}`
  return Object.values(units.present).map(({ pod, number }) => ({
    unit: unitName(application, number),
    hostname: `${pod}.${service}`,
  }))
}
