import { readAuthorizationPolicy } from '../istio/authorization-policy.ts'
import { resolveClient } from './client.ts'
import { resolveDestination } from './destination.ts'
import type { AccessRequest, ClusterSnapshot, TraceStep } from './evaluate.ts'
import { findMesh } from './memories.ts'
import type { ObservedCluster } from './observe.ts'
import { readPeerAuthentications } from './peer-authentications.ts'
import type { Query } from './query.ts'

/** What is to be decided, and what there is to know besides. */
export type EvaluationInput = {
  readonly request: AccessRequest
  readonly world: ClusterSnapshot
  readonly steps: readonly TraceStep[]
}

/** A question in the cluster as it was observed. Throws Refused where client or destination is none. */
export const buildInput = (question: Query, observed: ObservedCluster): EvaluationInput => {
  const { port, method, path, host, autoAllowWaypoint } = question
  const { from, isGateway, steps } = resolveClient(question, observed)
  const { to, services, workloads, notes } = resolveDestination(question, observed, isGateway)
  const { peerAuthentications, notes: odd } = readPeerAuthentications(observed)
  return {
    request: { from, to, port, method, path, host },
    world: {
      ...readPolicies(observed),
      ...resolveMesh(question, observed),
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

/** As the question says, else as the beacon does, else as Istio is installed. */
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
