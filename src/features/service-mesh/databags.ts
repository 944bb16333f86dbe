import type { ClusterView } from '../../core/feature/feature.ts'
import type { MeshPolicy, Policy } from '../../core/policies/models.ts'
import { crossModelDatabag } from '../../core/relations/cross-model.ts'
import { ELSEWHERE_KEY } from '../../core/relations/mesh-labels.ts'
import {
  ACCOUNT_KEY,
  DEFAULT_POLICIES_KEY,
  policiesDatabag,
  readPolicies,
} from '../../core/relations/policies-databag.ts'
import { type Relation, relationsIn } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { pythonJson } from '../../platform/base/python-json.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import { beaconLabels } from './beacon.ts'
import { authorPolicies, consumerPolicies } from './consumer.ts'
import { enforcementDatabag } from './enforcement.ts'
import { declaredGuards } from './guards.ts'
import { isRelated } from './related.ts'
import { servicesToLeave } from './services.ts'
import { arePodsGuarded, type SeenPods } from './unselected-pods.ts'

/**
 * Builds the databag of a mesh relation. Returns undefined for relations of other interfaces. A consumer publishes its requests, a beacon the labels for
 * the consumer, and the requirer of `cross_model_mesh` its identity.
 */
export const meshDatabag = (
  subject: Subject,
  state: EffectiveState,
  relation: Relation,
  seen: Pick<ClusterView, 'lookups'> & SeenPods,
): Record<string, string> | undefined => {
  switch (`${relation.interface} ${relation.role}`) {
    case 'service_mesh requires':
      return requestDatabag(subject, state, relation, seen)
    case 'service_mesh provides':
      return state.config?.mesh && beaconDatabag(subject, state.config.mesh, state, relation, seen.lookups)
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
const isRequestingPolicies = (state: EffectiveState, { requested = {} }: Relation): boolean =>
  state.config?.policies !== undefined ||
  state.config?.coordinator !== undefined ||
  isRelated(state) ||
  (state.config === undefined && Object.hasOwn(requested, 'policies'))

const requestDatabag = (
  subject: Subject,
  state: EffectiveState,
  relation: Relation,
  { lookups, ...seen }: Pick<ClusterView, 'lookups'> & SeenPods,
): Record<string, string> | undefined => {
  const leaving = servicesToLeave(subject, state, lookups)
  // a beacon must not say that nobody may reach pods for which no policy holds
  const isGuarded = arePodsGuarded(subject, state, seen)
  const guards = [
    ...declaredGuards(subject, state, authorPolicies(subject, state)).map(({ unrelated, ...guard }) => ({
      ...guard,
      ...(isGuarded && unrelated && { unrelated }),
    })),
    ...leaving.map((service) => ({ type: 'app' as const, ...(service !== subject.application && { service }) })),
  ]
  const isRequesting = isRequestingPolicies(state, relation)
  if (!isRequesting && guards.length === 0) return undefined
  const requested = [
    ...consumerPolicies(subject, state).requested.map(({ policy }) => policy),
    ...requestsAt(leaving, subject, state, relation),
  ]
  return {
    ...((isRequesting || leaving.length > 0) && { policies: policiesDatabag(requested) }),
    ...(guards.length > 0 && { guarded: pythonJson(guards) }),
    ...enforcementDatabag(state),
  }
}

/** Lists the earlier requests for these Services, if the application still has their clients. */
const requestsAt = (
  services: readonly string[],
  subject: Subject,
  state: EffectiveState,
  { requested = {} }: Relation,
): MeshPolicy[] => {
  const read = readPolicies(requested)
  if (services.length === 0 || 'unreadable' in read) return []
  const endpoints = new Set(relationsIn(state).map(({ endpoint }) => endpoint))
  const everybody = [...endpoints].map((relation): Policy => ({ type: 'unit', relation }))
  const clients = new Set(consumerPolicies(subject, state, everybody).requested.map(({ policy }) => sourceOf(policy)))
  const isThere = ({ target_type: type, target_service: service, target_app_name: name }: MeshPolicy) =>
    type === 'app' && services.includes(service ?? name ?? '')
  return read.policies.filter((policy) => isThere(policy) && clients.has(sourceOf(policy)))
}

const sourceOf = ({ source_namespace: namespace, source_app_name: application }: MeshPolicy): string =>
  subjectName({ namespace, application })

const beaconDatabag = (
  subject: Subject,
  mesh: MeshConfig,
  state: EffectiveState,
  relation: Relation,
  lookups: Lookups,
): Record<string, string> => {
  const { namespace = subject.namespace, application } = relation.remote
  const account = ownValue(state.config?.serviceAccounts, `${namespace}/${application}`)
  const { labels, elsewhere } = beaconLabels(subject, mesh, state, relation, lookups)
  return {
    labels: pythonJson(labels),
    ...(elsewhere && { [ELSEWHERE_KEY]: pythonJson(elsewhere) }),
    mesh_type: '"istio"',
    ...(mesh.guard === 'whenGranted' && { guard: '"whenGranted"' }),
    ...(account !== undefined && { [ACCOUNT_KEY]: JSON.stringify(account) }),
    ...(mesh.policies !== undefined && { [DEFAULT_POLICIES_KEY]: JSON.stringify(mesh.policies) }),
  }
}
