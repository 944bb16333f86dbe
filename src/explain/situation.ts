import { readAuthorizationPolicy } from '../policies/authorization-policy.ts'
import type { AccessRequest, Step, World } from '../policies/decide.ts'
import { clientOf } from './client.ts'
import { destinationOf } from './destination.ts'
import type { Observed } from './observe.ts'
import type { Question } from './question.ts'

/** What is to be decided, and what there is to know besides. */
export type Situation = {
  readonly request: AccessRequest
  readonly world: World
  readonly steps: readonly Step[]
}

/** A question in the cluster as it was observed. Throws Refused where client or destination is none. */
export const situationOf = (question: Question, observed: Observed): Situation => {
  const { port, method, path, host, rootNamespace, trustDomain, autoAllowWaypoint } = question
  const { from, isGateway, steps } = clientOf(question, observed)
  const { to, services, workloads, notes } = destinationOf(question, observed, isGateway)
  return {
    request: { from, to, port, method, path, host },
    world: { ...policiesOf(observed), rootNamespace, trustDomain, services, workloads, autoAllowWaypoint },
    steps: [...steps, ...[...missingKinds(observed), ...notes].map((note): Step => ({ at: 'destination', note }))],
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
