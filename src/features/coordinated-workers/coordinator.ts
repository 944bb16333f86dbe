import type { OwnSide } from '../../core/feature/feature.ts'
import type { RequestedPolicy } from '../../core/policies/request.ts'
import { ENROLMENT_LABEL } from '../../core/relations/mesh-labels.ts'
import type { MeshLabels } from '../../core/relations/requested-labels.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { CoordinatorConfig } from './config.ts'
import { type CoordinatorData, coordinatorDatabag } from './databag.ts'
import { clusterPolicies, notCovered, notEnrolled, partOfLabels } from './policies.ts'
import { missingRoles } from './roles.ts'
import { clusterPorts, selectWorkerPorts } from './settings.ts'
import { readSources, tracingRequests } from './sources.ts'
import { findTopology, type Topology } from './topology.ts'
import type { WorkerRelation } from './worker-relation.ts'

/** The URLs at which workers send telemetry, as databag fields. */
export type TelemetryEndpoints = Pick<
  CoordinatorData,
  'loki_endpoints' | 'remote_write_endpoints' | 'charm_tracing_receivers' | 'workload_tracing_receivers'
>

/** The input of a coordinator's desired state. */
export type CoordinatorInput = Subject & {
  readonly config: CoordinatorConfig
  readonly relations: EffectiveState['relations']
  /** The mesh labels for pods. Undefined while the application is not on a mesh. */
  readonly mesh?: MeshLabels | undefined
  readonly endpoints?: TelemetryEndpoints | undefined
  /** The keys of relations that already got a config. */
  readonly configured?: ReadonlySet<string> | undefined
}

export type Coordination = {
  /** Policies inside the cluster, which need no beacon. Empty without a mesh. */
  readonly meshPolicies: readonly RequestedPolicy[]
  /** The databags by relation key. A missing relation keeps its published data. */
  readonly databags: Readonly<Record<string, OwnSide>>
  /** Problems in what workers and sources of data tell. */
  readonly unserved: readonly string[]
  readonly messages: readonly string[]
}

/**
 * Derives the desired state of a coordinator. While roles are missing, workers without a config get only labels. Policies, and the data for other workers,
 * do not wait for the missing roles.
 */
export const coordinate = (input: CoordinatorInput): Coordination => {
  const { namespace, config, relations, mesh, configured = new Set() } = input
  const topology = findTopology(relations, namespace, config)
  const sources = readSources(relations, config)
  const missing = missingRoles(config, topology.roles)
  const workers = topology.relations.map((worker) => ({ worker, why: reasonToWithhold(worker, missing, configured) }))
  const due = workers.filter(({ worker, why }) => why === undefined || !configured.has(worker.key))
  return {
    meshPolicies: mesh === undefined ? [] : clusterPolicies(input, topology, config),
    databags: {
      ...tracingRequests(relations, config),
      ...Object.fromEntries(
        due.map(({ worker, why }) => [
          worker.key,
          why === undefined ? databagFor(worker, input) : labelsFor(worker, input),
        ]),
      ),
    },
    unserved: [...topology.problems, ...sources.problems],
    messages: [
      ...workers.flatMap(({ worker, why }) => (why === undefined ? [] : [`${worker.name}: ${why}`])),
      ...(mesh === undefined ? [] : meshMessages(input, topology)),
    ],
  }
}

/** Returns the reason to withhold a config from a relation. Invalid data of a unit are no reason. */
const reasonToWithhold = (
  { key, announced, roles }: WorkerRelation,
  missing: readonly string[],
  configured: ReadonlySet<string>,
): string | undefined => {
  const isNew = !configured.has(key)
  if (isNew && roles.length === 0) return 'gets a config once it announces a role'
  if (announced === undefined) return 'its role is unknown; the published data stays in effect'
  return isNew && missing.length > 0 ? 'gets a config once no role is missing' : undefined
}

/** Builds the labels for a worker. A relation without a config gets only these, so that its peer is notified and announces its role. */
const labelsFor = (worker: WorkerRelation, input: CoordinatorInput): OwnSide => ({
  data: coordinatorDatabag({ worker_labels: workerLabels(worker, input) }),
  partial: true,
})

const workerLabels = (worker: WorkerRelation, { namespace, application, mesh }: CoordinatorInput) =>
  sorted({ ...(worker.namespace === namespace ? mesh?.labels : mesh?.elsewhere), ...partOfLabels(application) })

const databagFor = (worker: WorkerRelation, input: CoordinatorInput): OwnSide => {
  const { announced = [], roles } = worker
  const { config, endpoints } = input
  const { workerConfig = '', tls, s3TlsCaChain } = config
  const certificate = typeof tls === 'object' ? tls : undefined
  const material = certificate && 'serverCert' in certificate ? certificate : undefined
  return {
    data: coordinatorDatabag({
      ...endpoints,
      worker_config: typeof workerConfig === 'string' ? workerConfig : JSON.stringify(workerConfig),
      worker_ports: selectWorkerPorts(config, [...announced, ...roles]),
      ca_cert: certificate?.caCert,
      server_cert: material?.serverCert,
      privkey_secret_id: material?.privkeySecretId,
      s3_tls_ca_chain: s3TlsCaChain,
      worker_labels: workerLabels(worker, input),
    }),
  }
}

const sorted = (labels: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1)))

const meshMessages = ({ namespace, config, mesh }: CoordinatorInput, topology: Topology): string[] => [
  ...notCovered(namespace, topology),
  ...(Object.hasOwn(mesh?.elsewhere ?? {}, ENROLMENT_LABEL) ? [] : notEnrolled(namespace, topology)),
  ...(clusterPorts(config).proxy === undefined
    ? [
        'coordinator.telemetryProxy: expected httpPort and httpsPort: on a mesh routing is mandatory, as no policy lets the telemetry of workers pass by the coordinator',
      ]
    : []),
]
