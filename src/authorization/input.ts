import { readAuthorizationPolicy } from '../istio/authorization-policy.ts'
import { ROOT_NAMESPACE, readMeshConfig } from '../istio/mesh-config.ts'
import { resolveClient } from './client.ts'
import { resolveDestination } from './destination.ts'
import type { AccessRequest, ClusterSnapshot, TraceStep } from './evaluate.ts'
import { findMesh } from './memories.ts'
import type { ObservedCluster } from './observe.ts'
import { readPeerAuthentications } from './peer-authentications.ts'
import type { Query } from './query.ts'

/** The input of an evaluation: the request, and a snapshot of the cluster. */
export type EvaluationInput = {
  readonly request: AccessRequest
  readonly snapshot: ClusterSnapshot
  readonly steps: readonly TraceStep[]
}

/** Builds the input from a query and the observed cluster. Throws Refused for an unknown client or destination. */
export const buildInput = (query: Query, observed: ObservedCluster): EvaluationInput => {
  const { port, method, path, host, autoAllowWaypoint } = query
  const { from, isGateway, steps, doubts: clientDoubts } = resolveClient(query, observed)
  const { notes: meshNotes, ...mesh } = resolveMesh(query, observed)
  const { to, services, workloads, notes, doubts } = resolveDestination(query, observed, isGateway)
  const { peerAuthentications, notes: odd } = readPeerAuthentications(observed)
  return {
    request: { from, to, port, method, path, host },
    snapshot: {
      ...readPolicies(observed),
      ...mesh,
      doubts: [...clientDoubts, ...doubts],
      services,
      workloads,
      autoAllowWaypoint,
      peerAuthentications,
    },
    steps: [
      ...steps,
      ...[...missingKinds(observed), ...notes, ...odd, ...meshNotes].map(
        (note): TraceStep => ({ at: 'destination', note }),
      ),
    ],
  }
}

type Mesh = Pick<ClusterSnapshot, 'rootNamespace' | 'otherRoots' | 'trustDomain' | 'trustDomainAliases'> & {
  readonly notes: readonly string[]
}

/** Resolves the mesh from the query, else Istio's own config, else the beacon's config, which may be mistaken, else Istio's defaults. */
export const resolveMesh = (
  query: Pick<Query, 'rootNamespace' | 'trustDomain'>,
  { memory, beacon, meshConfigs = [] }: Pick<ObservedCluster, 'memory' | 'beacon' | 'meshConfigs'>,
): Mesh => {
  const said = findMesh([memory, beacon])
  const found = meshConfigs.flatMap((object) => readMeshConfig(object) ?? [])
  const guessed = [said?.rootNamespace ?? ROOT_NAMESPACE, ROOT_NAMESPACE]
  const roots = found.length > 0 ? found.map((one) => one.rootNamespace) : guessed
  const [rootNamespace = ROOT_NAMESPACE, ...otherRoots] =
    query.rootNamespace === undefined ? [...new Set(roots)] : [query.rootNamespace]
  const known = found.find((one) => one.rootNamespace === rootNamespace)
  const isMistaken = said?.rootNamespace !== undefined && known !== undefined && said.rootNamespace !== rootNamespace
  return {
    ...{ rootNamespace, otherRoots },
    trustDomain: query.trustDomain ?? known?.trustDomain ?? said?.trustDomain ?? 'cluster.local',
    trustDomainAliases: known?.trustDomainAliases ?? said?.trustDomainAliases ?? 'unknown',
    notes: isMistaken
      ? [
          `the beacon's config says that ${said.rootNamespace} is Istio's root namespace, and Istio's own that ${rootNamespace} is`,
        ]
      : [],
  }
}

const readPolicies = ({ policies = [] }: ObservedCluster): Pick<ClusterSnapshot, 'policies' | 'unreadable'> => {
  const read = policies.map(readAuthorizationPolicy)
  return {
    policies: read.flatMap((one) => ('policy' in one ? [one.policy] : [])),
    unreadable: read.flatMap((one) => ('policy' in one ? [] : [one])),
  }
}

const missingKinds = ({ policies, gateways }: ObservedCluster): string[] => [
  ...(policies === undefined ? ['the cluster has no AuthorizationPolicies: Istio is not installed'] : []),
  ...(gateways === undefined ? ['the cluster has no Gateways, and so no waypoints'] : []),
]
