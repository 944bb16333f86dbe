import { pythonJson } from '../python-json.ts'
import type { EffectiveState, Relation, Subject } from '../state.ts'
import { beaconLabels } from './beacon.ts'
import { consumerPolicies } from './consumer.ts'
import { crossModelDatabag } from './cross-model.ts'
import { enforcementDatabag } from './enforcement.ts'
import { policiesDatabag } from './policies-databag.ts'

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
      return asks(state) ? requestDatabag(subject, state) : undefined
    case 'service_mesh provides':
      return (
        state.config?.mesh && { labels: pythonJson(beaconLabels(subject, state.config.mesh)), mesh_type: '"istio"' }
      )
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

const requestDatabag = (subject: Subject, state: EffectiveState): Record<string, string> => ({
  policies: policiesDatabag(consumerPolicies(subject, state).requested.map(({ policy }) => policy)),
  ...enforcementDatabag(state),
})
