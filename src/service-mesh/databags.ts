import { pythonJson } from '../base/python-json.ts'
import type { Subject } from '../base/subject.ts'
import type { MeshConfig } from '../istio/beacon-config.ts'
import type { Lookups } from '../kubernetes/lookups.ts'
import { crossModelDatabag } from '../relations/cross-model.ts'
import { ELSEWHERE_KEY } from '../relations/mesh-labels.ts'
import { policiesDatabag } from '../relations/policies-databag.ts'
import type { Relation } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'
import { beaconLabels } from './beacon.ts'
import { authorPolicies, consumerPolicies } from './consumer.ts'
import { enforcementDatabag } from './enforcement.ts'
import { declaredGuards } from './guards.ts'

/**
 * The databag of a relation of the mesh; undefined in relations of other interfaces. A consumer publishes its requests, a beacon the
 * labels to hold, the requirer of `cross_model_mesh` its identity.
 */
export const meshDatabag = (
  subject: Subject,
  state: EffectiveState,
  relation: Relation,
  lookups: Lookups,
): Record<string, string> | undefined => {
  switch (`${relation.interface} ${relation.role}`) {
    case 'service_mesh requires':
      return requestDatabag(subject, state)
    case 'service_mesh provides':
      return state.config?.mesh && beaconDatabag(subject, state.config.mesh, state, relation, lookups)
    case 'cross_model_mesh requires':
      return { cmr_data: crossModelDatabag(subject) }
    case 'cross_model_mesh provides':
      return {} // the protocol versions alone
    default:
      return undefined
  }
}

/** An application without policies may be run by another program that asks for them: its published data stay. */
const isRequestingPolicies = ({ config }: EffectiveState): boolean =>
  config?.policies !== undefined || config?.coordinator !== undefined

const requestDatabag = (subject: Subject, state: EffectiveState): Record<string, string> | undefined => {
  const guards = declaredGuards(subject, state, authorPolicies(state))
  if (!isRequestingPolicies(state) && guards.length === 0) return undefined
  const requested = consumerPolicies(subject, state).requested.map(({ policy }) => policy)
  return {
    ...(isRequestingPolicies(state) && { policies: policiesDatabag(requested) }),
    ...(guards.length > 0 && { guarded: pythonJson(guards) }),
    ...enforcementDatabag(state),
  }
}

const beaconDatabag = (
  subject: Subject,
  mesh: MeshConfig,
  state: EffectiveState,
  relation: Relation,
  lookups: Lookups,
): Record<string, string> => {
  const { labels, elsewhere } = beaconLabels(subject, mesh, state, relation, lookups)
  return {
    labels: pythonJson(labels),
    ...(elsewhere && { [ELSEWHERE_KEY]: pythonJson(elsewhere) }),
    mesh_type: '"istio"',
    ...(mesh.guard === 'whenGranted' && { guard: '"whenGranted"' }),
  }
}
