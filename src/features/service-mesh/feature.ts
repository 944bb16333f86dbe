import type { Feature, Leftovers, Related } from '../../core/feature/feature.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { requesterName } from '../../core/relations/requester-names.ts'
import type { ResolvedRelations } from '../../core/relations/resolve-relations.ts'
import type { Config } from '../../core/state/config.ts'
import { type Relation, type RelationIdentity, relationsIn } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { isGuarding } from '../../mesh/istio/attachment.ts'
import { isManaging } from '../../mesh/istio/beacon-config.ts'
import { resolveMeshConfig } from '../../mesh/istio/identities.ts'
import { mistakeWarnings } from '../../mesh/istio/policy-mistakes.ts'
import { rawPolicies } from '../../mesh/istio/raw-policies.ts'
import { policyProblems } from '../../mesh/istio/validation.ts'
import type { Condition } from '../../platform/base/condition.ts'
import { defined } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { ownerLabels } from '../../platform/kubernetes/ownership-labels.ts'
import { beaconDesiredState, beaconLookups, customRequests, keptRequests, servicesAtConsumers } from './beacon.ts'
import { consumerReport } from './consumer.ts'
import { consumersOf, isGuardingItself } from './consumers.ts'
import { meshDatabag } from './databags.ts'
import { desiredLabels } from './desired-labels.ts'
import { auditedRequesters } from './enforcement.ts'
import { isMadeByLibrary, libraryManagers, librarySelector } from './library.ts'
import { literalAsterisks, unmatchable } from './matchable.ts'
import { rootLookups, rootNamespaces } from './root-namespaces.ts'
import { serviceMeshConfig, serviceMeshState } from './schema.ts'
import { namedServices, servicesOfPolicies } from './services.ts'
import { adoptedBeacons, guardsTaken, servicesTaken } from './taken.ts'

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
  leftovers: (subject, { state }) => [
    ...(state.config?.mesh?.adopt === true
      ? [leftoversOf(subject, (object) => !isAtConsumers(subject, state, object))]
      : []),
    ...adoptedBeacons(subject, state).map((beacon) =>
      leftoversOf(
        beacon,
        (object) => object.metadata.namespace === subject.namespace && isGuarding(object, [subject.application]),
      ),
    ),
  ],
  services: namedServices,
  kinds: ({ config: { meshPolicies = [], rawPolicies: raw = [], mesh } = {}, ...state }) => [
    ...(meshPolicies.length > 0 || raw.length > 0 || mesh || isGuarded(state)
      ? (['AuthorizationPolicy'] as const)
      : []),
    ...(mesh ? (['Gateway', 'HorizontalPodAutoscaler', 'Namespace'] as const) : []),
  ],
  lookups: (subject, { state }, seen) => [
    ...(state.config?.mesh ? beaconLookups(subject, state, state.config.mesh) : []),
    ...servicesAtConsumers(subject, state),
    ...rootLookups(subject, state.config ?? {}, seen),
    ...servicesOfPolicies(subject, state),
    ...servicesTaken(subject, state),
  ],
  labels: (subject, resolved) => {
    const { state, unknown } = resolved
    return desiredLabels(subject, unknown.guards ? { ...state, relations: {} } : state)
  },
  desire: ({ subject, resolved, seen }) => {
    const { state } = resolved
    const { config } = state
    const own = guardsTaken(subject, resolved, seen)
    const owner = { ...subject, labels: ownerLabels(subject) }
    const beacon = config?.mesh && beaconDesiredState(subject, state, resolveMeshConfig(config), owner, seen)
    const consumer = consumerReport(subject, state, seen)
    const raw = rawPolicies(owner, config?.rawPolicies ?? [])
    return {
      objects: [...(beacon?.objects ?? []), ...raw],
      requests: [...(beacon?.requests ?? []), ...customRequests(subject, state, seen)],
      guards: beacon?.guards ?? [],
      taken: own.taken,
      carried: own.carried,
      unknownRequests: [
        ...(beacon?.unknown ?? []),
        ...(beacon ? keptRequests(subject, resolved, seen) : []),
        ...unknownRequesters(subject, resolved),
        ...own.unknown,
      ],
      audited: withTaken(auditedRequesters(subject, state), own.audited),
      awaiting: beacon?.awaiting,
      waiting: [...consumer.waiting, ...untold(own.waiting, consumer.waiting), ...(beacon?.waiting ?? [])],
      unserved: [
        ...consumer.unserved,
        ...own.unserved.filter((text) => !isTold(text, consumer.waiting)),
        ...(beacon?.unserved ?? []),
      ],
      messages: [
        ...consumer.messages,
        ...own.messages,
        ...(beacon?.messages ?? []),
        ...literalAsterisks(config ?? {}),
        ...raw.flatMap((policy) => mistakeWarnings(policy, rootNamespaces(subject, config ?? {}, seen.lookups))),
      ],
    }
  },
  publications: ({ subject, resolved: { state, unknown }, seen }) =>
    Object.fromEntries(
      relationsIn(state).flatMap((relation) => {
        const data = meshDatabag(subject, state, relation, seen)
        // after a lost memory, a beacon keeps its grants for relations that may be unknown here
        const isPartial = unknown.endpoints && relation.role === 'requires'
        return data === undefined
          ? []
          : [[relation.key, { data, ...(isPartial && { partial: true as const }) }] as const]
      }),
    ),
  keeps: ({ state, unknown }: ResolvedRelations, { interface: name, role }: Relation) =>
    name === 'service_mesh' &&
    role === 'requires' &&
    // a request depends on the identity behind an alias, and without policies of its own on the beacon's default
    unknown.peers.some(
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
const unknownRequesters = (subject: Subject, { state, unknown }: ResolvedRelations): string[] => {
  const { mesh } = state.config ?? {}
  return mesh && isManaging(mesh) ? unknown.peers.map((relation) => requesterName(subject, relation)) : []
}

/** Tells if policies may follow from relations, or a lost memory may have known some: also of a relation of which only the end is known. */
const isGuarded = ({ relations, lost, tombstones = {} }: Omit<Related, 'config'>): boolean =>
  lost?.labels === true ||
  Object.values(relations).some(isTaken) ||
  Object.values(tombstones).some(({ interface: name }) => name === 'service_mesh')

/** Tells if policies follow from the relation, or did before its end: it has a beacon. */
const isTaken = ({ interface: name, role }: RelationIdentity): boolean => name === 'service_mesh' && role === 'requires'

/** Selects the waits for objects that no other wait names. */
const untold = (waits: readonly Condition[], told: readonly Condition[]): Condition[] => {
  const named = new Set(told.flatMap((one) => one.for ?? []))
  return waits.filter((one) => !one.for?.every((name) => named.has(name)))
}

/** Tells if a wait names the object that a request is refused for. */
const isTold = (text: string, told: readonly Condition[]): boolean =>
  told.some((one) => one.for?.some((name) => text.includes(`${name},`)))

const withTaken = (own: 'all' | readonly string[], taken: readonly string[]): 'all' | readonly string[] =>
  own === 'all' ? own : [...own, ...taken]

/** Selects the objects that the charm library made for a beacon, as far as the application takes them over. */
const leftoversOf = (beacon: Subject, isMeant: (object: KubernetesObject) => boolean): Leftovers => ({
  selector: librarySelector(beacon),
  managers: libraryManagers(beacon),
  isLeftover: (object) => isMadeByLibrary(beacon, object) && isMeant(object),
})

/** Tells if a policy is at a consumer that takes it over itself. */
const isAtConsumers = (subject: Subject, { relations }: EffectiveState, object: KubernetesObject): boolean =>
  object.kind === 'AuthorizationPolicy' &&
  consumersOf(relations).some((relation) => {
    const { namespace, application } = remoteSubject(subject, relation)
    return isGuardingItself(relation) && object.metadata.namespace === namespace && isGuarding(object, [application])
  })
