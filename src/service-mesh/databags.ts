import { pythonJson } from '../base/python-json.ts'
import type { Subject } from '../base/subject.ts'
import type { MeshConfig } from '../istio/config.ts'
import { crossModelDatabag } from '../relations/cross-model.ts'
import { policiesDatabag } from '../relations/policies-databag.ts'
import type { Relation } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'
import { beaconLabels } from './beacon.ts'
import { authorPolicies, consumerPolicies } from './consumer.ts'
import { enforcementDatabag } from './enforcement.ts'
import { declaredGuards } from './guards.ts'

/**
 * What an application says in a relation of the mesh: a consumer what it asks for, a beacon which labels to hold, the requirer of
 * `cross_model_mesh` what it is really called. Undefined in a relation in which it has nothing to say.
 */
export const meshDatabag = (
  subject: Subject,
  state: EffectiveState,
  relation: Relation,
): Record<string, string> | undefined => {
  switch (`${relation.interface} ${relation.role}`) {
    case 'service_mesh requires':
      return requestDatabag(subject, state)
    case 'service_mesh provides':
      return state.config?.mesh && beaconDatabag(subject, state.config.mesh)
    case 'cross_model_mesh requires':
      return { cmr_data: crossModelDatabag(subject) }
    case 'cross_model_mesh provides':
      return {} // but for the versions that are spoken here
    default:
      return undefined
  }
}

/** Whoever never asks for policies may be run by something else, which does: what a platform says of that holds. */
const asks = ({ config }: EffectiveState): boolean =>
  config?.policies !== undefined || config?.coordinator !== undefined

const requestDatabag = (subject: Subject, state: EffectiveState): Record<string, string> | undefined => {
  const guards = declaredGuards(subject, state, authorPolicies(state))
  if (!asks(state) && guards.length === 0) return undefined
  const requested = consumerPolicies(subject, state).requested.map(({ policy }) => policy)
  return {
    ...(asks(state) && { policies: policiesDatabag(requested) }),
    ...(guards.length > 0 && { guarded: pythonJson(guards) }),
    ...enforcementDatabag(state),
  }
}

const beaconDatabag = (subject: Subject, mesh: MeshConfig): Record<string, string> => ({
  labels: pythonJson(beaconLabels(subject, mesh)),
  mesh_type: '"istio"',
  ...(mesh.guard === 'whenGranted' && { guard: '"whenGranted"' }),
})
