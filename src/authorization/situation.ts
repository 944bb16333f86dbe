import { readAuthorizationPolicy } from '../istio/authorization-policy.ts'
import { clientOf } from './client.ts'
import { destinationOf } from './destination.ts'
import type { AccessRequest, Step, World } from './evaluate.ts'
import { meshIn } from './memories.ts'
import type { Observed } from './observe.ts'
import { peerAuthenticationsOf } from './peer-authentications.ts'
import type { Question } from './question.ts'

/** What is to be decided, and what there is to know besides. */
export type Situation = {
  readonly request: AccessRequest
  readonly world: World
  readonly steps: readonly Step[]
}

/** A question in the cluster as it was observed. Throws Refused where client or destination is none. */
export const situationOf = (question: Question, observed: Observed): Situation => {
  const { port, method, path, host, autoAllowWaypoint } = question
  const { from, isGateway, steps } = clientOf(question, observed)
  const { to, services, workloads, notes } = destinationOf(question, observed, isGateway)
  const { peerAuthentications, notes: odd } = peerAuthenticationsOf(observed)
  return {
    request: { from, to, port, method, path, host },
    world: {
      ...policiesOf(observed),
      ...meshOf(question, observed),
      services,
      workloads,
      autoAllowWaypoint,
      peerAuthentications,
    },
    steps: [
      ...steps,
      ...[...missingKinds(observed), ...notes, ...odd].map((note): Step => ({ at: 'destination', note })),
    ],
  }
}

/** As the question says, else as the beacon does, else as Istio is installed. */
export const meshOf = (
  { rootNamespace, trustDomain }: Pick<Question, 'rootNamespace' | 'trustDomain'>,
  { memory, beacon }: Pick<Observed, 'memory' | 'beacon'>,
): { rootNamespace: string; trustDomain: string } => {
  const mesh = meshIn([memory, beacon])
  return {
    rootNamespace: rootNamespace ?? mesh?.rootNamespace ?? 'istio-system',
    trustDomain: trustDomain ?? mesh?.trustDomain ?? 'cluster.local',
  }
}

const policiesOf = ({ policies = [] }: Observed): Pick<World, 'policies' | 'unreadable'> => {
  const read = policies.map(readAuthorizationPolicy)
  return {
    policies: read.flatMap((one) => ('policy' in one ? [one.policy] : [])),
    unreadable: read.flatMap((one) => ('policy' in one ? [] : [one])),
  }
}

const missingKinds = ({ policies, gateways }: Observed): string[] => [
  ...(policies === undefined ? ['the cluster has no AuthorizationPolicies: Istio is not installed'] : []),
  ...(gateways === undefined ? ['the cluster has no Gateways, and so no waypoints'] : []),
]
