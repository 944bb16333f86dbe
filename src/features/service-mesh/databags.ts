import type { ClusterView } from '../../core/feature/feature.ts'
import { crossModelDatabag } from '../../core/relations/databags/cross-model.ts'
import { ACCOUNT_KEY, DEFAULT_POLICIES_KEY, policiesDatabag } from '../../core/relations/databags/policies-databag.ts'
import { type RelationData, readData } from '../../core/relations/databags/relation-data.ts'
import { ELSEWHERE_KEY } from '../../core/relations/requested-labels.ts'
import type { Relation } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { pythonJson } from '../../platform/base/python-json.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { beaconLabels } from './beacon.ts'
import { consumerPolicies, declaredTargets } from './consumer.ts'
import { enforcementDatabag } from './enforcement.ts'
import { OFFER_KEY, offerTo } from './offer.ts'
import { isRelated } from './related.ts'
import { meshInEffect } from './waypoint-switch.ts'

/**
 * Builds the databag of a mesh relation. Returns undefined for relations of other interfaces. A consumer publishes its requests, a beacon the labels for
 * the consumer, and the requirer of `cross_model_mesh` its identity.
 */
export const meshDatabag = (
  subject: Subject,
  state: EffectiveState,
  relation: Relation,
  seen: ClusterView,
): Record<string, string> | undefined => {
  switch (`${relation.interface} ${relation.role}`) {
    case 'service_mesh requires':
      return requestDatabag(subject, state, relation)
    case 'service_mesh provides':
      return state.config?.mesh && beaconDatabag(subject, state.config.mesh, state, relation, seen)
    case 'cross_model_mesh requires':
      return { cmr_data: crossModelDatabag(subject) }
    case 'cross_model_mesh provides':
      return {} // only the protocol versions
    default:
      return undefined
  }
}

/**
 * Tells if the application requests policies, by its config or by the default of its beacon. Otherwise another program may request them for it, and its
 * published data stay. Without a config, only the default can have requested something before.
 */
const isRequestingPolicies = (state: EffectiveState, { interface: name, ownData }: Relation): boolean =>
  state.config?.policies !== undefined ||
  state.config?.coordinator !== undefined ||
  isRelated(state) ||
  (state.config === undefined && hasPolicies(readData(name, {}, ownData?.data)))

const hasPolicies = (read: RelationData): boolean => 'data' in read && Object.hasOwn(read.data, 'policies')

const requestDatabag = (
  subject: Subject,
  state: EffectiveState,
  relation: Relation,
): Record<string, string> | undefined => {
  const isRequesting = isRequestingPolicies(state, relation)
  if (!isRequesting && declaredTargets(subject, state).length === 0) return undefined
  const requested = consumerPolicies(subject, state).requested.map(({ policy }) => policy)
  return { ...(isRequesting && { policies: policiesDatabag(requested) }), ...enforcementDatabag(state) }
}

const beaconDatabag = (
  subject: Subject,
  mesh: MeshConfig,
  state: EffectiveState,
  relation: Relation,
  seen: ClusterView,
): Record<string, string> => {
  const { namespace = subject.namespace, application } = relation.remote
  const account = ownValue(state.config?.serviceAccounts, `${namespace}/${application}`)
  const { labels, elsewhere } = beaconLabels(subject, mesh, state, relation, seen.lookups)
  const effective = meshInEffect(subject, state, mesh, seen)
  // what denies everything goes before the policies that let through what it denies
  const hardened = effective.mesh.hardened || effective.isDenying || undefined
  // declared targets are guarded either way, and what is hardened is open to nobody meanwhile
  const isOpening = mesh.guard === 'whenGranted' && !mesh.hardened
  const isSwitching = isOpening && effective.isSwitching(relation)
  const inEffect = { ...effective.mesh, hardened }
  const offer = offerTo(subject, state, inEffect, { relation, isSwitching, seen })
  return {
    labels: pythonJson(labels),
    ...(elsewhere && { [ELSEWHERE_KEY]: pythonJson(elsewhere) }),
    mesh_type: '"istio"',
    ...(mesh.guard === 'whenGranted' && { guard: '"whenGranted"' }),
    ...(account !== undefined && { [ACCOUNT_KEY]: JSON.stringify(account) }),
    [OFFER_KEY]: JSON.stringify(offer),
    ...(mesh.policies !== undefined && { [DEFAULT_POLICIES_KEY]: JSON.stringify(mesh.policies) }),
  }
}
