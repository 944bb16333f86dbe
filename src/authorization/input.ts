import { readAuthorizationPolicy } from '../istio/authorization-policy.ts'
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
  const { from, isGateway, steps } = resolveClient(query, observed)
  const { to, services, workloads, notes } = resolveDestination(query, observed, isGateway)
  const { peerAuthentications, notes: odd } = readPeerAuthentications(observed)
  return {
    request: { from, to, port, method, path, host },
    snapshot: {
      ...readPolicies(observed),
      ...resolveMesh(query, observed),
      services,
      workloads,
      autoAllowWaypoint,
      peerAuthentications,
    },
    steps: [
      ...steps,
      ...[...missingKinds(observed), ...notes, ...odd].map((note): TraceStep => ({ at: 'destination', note })),
    ],
  }
}

/** Resolves the mesh from the query, else the beacon's config, else Istio's defaults. */
export const resolveMesh = (
  { rootNamespace, trustDomain }: Pick<Query, 'rootNamespace' | 'trustDomain'>,
  { memory, beacon }: Pick<ObservedCluster, 'memory' | 'beacon'>,
): { rootNamespace: string; trustDomain: string } => {
  const mesh = findMesh([memory, beacon])
  return {
    rootNamespace: rootNamespace ?? mesh?.rootNamespace ?? 'istio-system',
    trustDomain: trustDomain ?? mesh?.trustDomain ?? 'cluster.local',
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
