import type { Feature } from '../../core/feature/feature.ts'
import type { RequestedPolicy } from '../../core/policies/request.ts'
import { FOREIGN_KEYS } from '../../core/relations/foreign-labels.ts'
import { isAwaiting } from '../../core/relations/gate-enrolment.ts'
import type { ResolvedRelations } from '../../core/relations/resolve-relations.ts'
import type { Config } from '../../core/state/config.ts'
import { type Relation, relationsIn, requesterName } from '../../core/state/relation.ts'
import { type EffectiveState, isConfigUnknown } from '../../core/state/state.ts'
import { resolveMeshConfig } from '../../mesh/istio/identities.ts'
import { mistakeWarnings } from '../../mesh/istio/policy-mistakes.ts'
import { rawPolicies } from '../../mesh/istio/raw-policies.ts'
import { policyProblems } from '../../mesh/istio/validation.ts'
import { defined } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { ownerLabels } from '../../platform/kubernetes/ownership-labels.ts'
import { beaconDesiredState, beaconLookups, isManaging } from './beacon.ts'
import { consumerReport } from './consumer.ts'
import { meshDatabag } from './databags.ts'
import { desiredLabels, refusedLabels } from './desired-labels.ts'
import { auditedRequesters } from './enforcement.ts'
import { isMadeByLibrary, libraryManagers, librarySelector } from './library.ts'
import { literalAsterisks, unmatchable } from './matchable.ts'
import { rootLookups, rootNamespaces } from './root-namespaces.ts'
import { serviceMeshConfig, serviceMeshState } from './schema.ts'
import { namedServices, servicesToLeave, servicesToRead } from './services.ts'
import { keepingOwnLabels, meshInEffect } from './waypoint-switch.ts'

/** The feature for consumers of a service mesh, and its beacon: labels, policies, the waypoint, and hardened mode. */
export const serviceMesh = {
  name: 'service-mesh',
  config: serviceMeshConfig,
  state: serviceMeshState,
  problems: (config) => [
    ...unmatchable(config),
    ...(config.rawPolicies ?? []).flatMap((policy, index) =>
      policyProblems(policy).map(({ path, message }) => ({ path: ['rawPolicies', index, ...path], message })),
    ),
  ],
  effects: (_subject, config) => {
    const { rawPolicies: raw = [], meshPolicies = [], mesh, enforcement } = config
    const { hardened, rootNamespace, ...others } = mesh ?? {}
    const hasRequests = meshPolicies.length > 0
    return defined({
      policies:
        raw.length > 0 || hasRequests
          ? { raw, meshPolicies, enforcement, identities: hasRequests && identityPart(config) }
          : undefined,
      mesh: mesh && { others, enforcement, identities: identityPart(config) },
      root: hardened === true || rootNamespace !== undefined ? { hardened, rootNamespace } : undefined,
    })
  },
  leftovers: ({ mesh }) =>
    mesh?.adopt === true
      ? { selector: librarySelector, managers: libraryManagers, isLeftover: isMadeByLibrary }
      : undefined,
  services: namedServices,
  kinds: ({ meshPolicies = [], rawPolicies: raw = [], mesh }) => [
    ...(meshPolicies.length > 0 || raw.length > 0 || mesh ? (['AuthorizationPolicy'] as const) : []),
    ...(mesh ? (['Gateway', 'HorizontalPodAutoscaler', 'Namespace'] as const) : []),
  ],
  lookups: (subject, { state }, seen) => [
    ...(state.config?.mesh ? beaconLookups(subject, state, state.config.mesh) : []),
    ...rootLookups(subject, state.config ?? {}, seen),
    ...servicesToRead(subject, state),
  ],
  // relations with unknown data keep their labels
  labels: (subject, resolved) => {
    const { state, unknown } = resolved
    const labels = desiredLabels(subject, state)
    const isAllUnknown = unknown.some(({ role }) => role === 'requires') || labels.unknown === 'all'
    if (isAllUnknown || (state.recovering && isConfigUnknown(state))) return { ...labels, unknown: 'all' }
    return state.recovering || isAwaiting(resolved)
      ? { ...labels, unknown: [...labels.unknown, ...FOREIGN_KEYS] }
      : labels
  },
  reports: (_, { state }) =>
    refusedLabels(state.config ?? {}).map((message) => ({ status: 'blocked' as const, message })),
  desire: ({ subject, resolved: { state, unknown }, seen }) => {
    const { config } = state
    const owner = { ...subject, labels: ownerLabels(subject) }
    const beacon = config?.mesh && beaconDesiredState(subject, state, resolveMeshConfig(config), owner, seen)
    const consumer = consumerReport(subject, state, seen)
    const raw = rawPolicies(owner, config?.rawPolicies ?? [])
    return {
      objects: [...(beacon?.objects ?? []), ...raw],
      requests: [...(beacon?.requests ?? []), ...customRequests(subject, state)],
      guards: beacon?.guards ?? [],
      unknown: [...(beacon?.unknown ?? []), ...unknownRequesters(subject, config, unknown)],
      audited: auditedRequesters(subject, state),
      isAwaitingLabels: beacon?.isAwaitingLabels === true,
      waiting: [...consumer.waiting, ...(beacon?.waiting ?? [])],
      unserved: [...consumer.unserved, ...(beacon?.unserved ?? [])],
      messages: [
        ...consumer.messages,
        ...(beacon?.messages ?? []),
        ...literalAsterisks(config ?? {}),
        ...raw.flatMap((policy) => mistakeWarnings(policy, rootNamespaces(subject, config ?? {}, seen.lookups))),
      ],
    }
  },
  publications: ({ subject, resolved: { state }, seen }) =>
    Object.fromEntries(
      relationsIn(state).flatMap((relation) => {
        const data = meshDatabag(subject, state, relation, seen)
        // after a lost memory, a beacon keeps its grants for relations that may be unknown here
        const isPartial = state.unknownEndpoints !== undefined && relation.role === 'requires'
        return data === undefined
          ? []
          : [[relation.key, { data, ...(isPartial && { partial: true as const }) }] as const]
      }),
    ),
  // this step labels the namespace and releases Services, and the published data wait for both
  isHeldBack: ({ subject, resolved: { state }, seen }) => {
    const { mesh } = state.config ?? {}
    if (servicesToLeave(subject, state, seen.lookups).length > 0) return true
    if (mesh === undefined) return false
    const isLeading = meshInEffect(subject, state, mesh, seen).leading.length > 0
    return isLeading || keepingOwnLabels(subject, mesh, state, seen.lookups).length > 0
  },
  keeps: ({ state, unknown }: ResolvedRelations, { interface: name, role }: Relation) =>
    name === 'service_mesh' &&
    role === 'requires' &&
    // a request depends on the identity behind an alias, and without policies of its own on the beacon's default
    unknown.some(
      (one) =>
        one.interface === 'cross_model_mesh' || (!isAsking(state) && one.interface === name && one.role === role),
    ),
} satisfies Feature

const isAsking = ({ config }: EffectiveState): boolean =>
  config?.policies !== undefined || config?.coordinator !== undefined

/** Returns the identities that policies name. If they change, the same policies admit other clients. */
const identityPart = ({ trustDomain, serviceAccounts, mesh }: Config) => ({
  trustDomain,
  serviceAccounts,
  ofMesh: [mesh?.trustDomain, mesh?.trustDomainAliases, mesh?.trustDomains],
})

/** Lists the requesters of relations with unknown data. The list is empty if the beacon grants nothing. */
const unknownRequesters = (subject: Subject, config: Config | undefined, unknown: readonly Relation[]): string[] =>
  config?.mesh && isManaging(config.mesh) ? unknown.map((relation) => requesterName(subject, relation)) : []

const customRequests = ({ namespace, application }: Subject, { config }: EffectiveState): RequestedPolicy[] =>
  (config?.meshPolicies ?? []).map((policy) => ({ policy, relation: `config of ${namespace}/${application}` }))
