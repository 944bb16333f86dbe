import type { Policy } from '../../core/policies/models.ts'
import { relationName } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { runsWaypoint } from '../../mesh/istio/waypoint.ts'
import { waitFor } from '../../platform/base/condition.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { authorPolicies, consumerPolicies } from './consumer.ts'
import { declareTargets } from './consumer-requests.ts'
import { declaredGuards, type Guarded, guardTitle } from './declared-targets.ts'
import { type Grants, NO_WAYPOINT, WAYPOINT } from './grants.ts'
import { guardsFor, unreachable } from './guards.ts'

/** The policies of a beacon itself: its waypoint serves metrics on this port. */
const OWN_POLICIES: Policy[] = [{ type: 'unit', relation: 'metrics-endpoint', ports: [15_090] }]

/** The requests that a beacon makes for itself. */
export const ownGrants = (subject: Subject, state: EffectiveState, mesh: MeshConfig): Grants => {
  const policies = authorPolicies(subject, state)
  const { requested, waiting, messages } = consumerPolicies(subject, state, [...OWN_POLICIES, ...policies])
  const of = `of ${subject.namespace}/${subject.application}`
  const requests = requested
    .filter(({ policy: { target_type: type } }) => type === 'unit' || runsWaypoint(mesh))
    .map(({ policy, relation }) => ({ policy, relation: `${relationName(relation)} ${of}` }))
  const isGuarding = mesh.guard !== 'whenGranted'
  const guards = declaredGuards(subject, state, policies)
  const declared = isGuarding ? declareTargets(subject, guards) : []
  const guarded = [
    ...requests.map(({ policy, relation }) => ({ relation, policies: [policy] })),
    ...(declared.length > 0 ? [{ relation: `config ${of}`, policies: declared.map(({ policy }) => policy) }] : []),
  ]
  const isUnenforced = ({ type }: Guarded) => type === 'app' && !runsWaypoint(mesh)
  return {
    requests,
    guards: guarded.flatMap((one) => guardsFor(subject, mesh, { ...subject, relation: one.relation }, one.policies)),
    unknown: [],
    isOpening: false,
    waiting: [
      ...waiting,
      ...guards
        .filter(isUnenforced)
        .map((one) =>
          waitFor(
            [WAYPOINT],
            'NotEnforced',
            `config ${of}`,
            `config ${of}: asks for ${guardTitle(subject, one)} as a Service, ${NO_WAYPOINT}`,
          ),
        ),
    ],
    unserved: messages,
    messages: unreachable(
      subject,
      declared,
      requests.map(({ policy }) => policy),
    ),
  }
}
