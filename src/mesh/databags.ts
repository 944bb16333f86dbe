import { pythonJson } from '../python-json.ts'
import { isToldByRemote } from '../relations/key.ts'
import type { Relation, State, Subject } from '../state.ts'
import { beaconLabels } from './beacon.ts'
import { consumerPolicies } from './consumer.ts'
import { crossModelDatabag } from './cross-model.ts'
import { policiesDatabag } from './policies-databag.ts'

/**
 * What an application says in a relation of the mesh: a consumer what it asks for, a beacon which labels to hold, the requirer of
 * `cross_model_mesh` what it is really called. Undefined in a relation in which it has nothing to say.
 */
export const meshDatabag = (
  subject: Subject,
  state: State,
  relation: Relation & { key: string },
): Record<string, string> | undefined => {
  switch (`${relation.interface} ${relation.role}`) {
    case 'service_mesh requires':
      return isOwn(state, relation)
        ? { policies: policiesDatabag(consumerPolicies(subject, state).requested.map(({ policy }) => policy)) }
        : undefined
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

/** Whoever has no config, and hears of the relation from its beacon alone, may be run by something else, which asks for itself. */
const isOwn = ({ config }: State, { key }: { key: string }): boolean => config !== undefined || !isToldByRemote(key)
