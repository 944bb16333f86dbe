import type { ClusterView } from '../../core/feature/feature.ts'
import type { Guard, RequestedPolicy } from '../../core/policies/request.ts'
import { findTarget, type PolicyTarget } from '../../core/policies/target.ts'
import { lateConsumers } from '../../core/relations/offers/awaited-peers.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { configRequester, parseRequester, requesterName } from '../../core/relations/requester-names.ts'
import type { ResolvedRelations } from '../../core/relations/resolve-relations.ts'
import type { Relation } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { isManaging, type MeshConfig } from '../../mesh/istio/beacon-config.ts'
import {
  externalAuthorizer,
  externalTraffic,
  hardenedMode,
  type IngressBackend,
  ingressToBackend,
  modeloperatorAllow,
  type PolicyOwner,
} from '../../mesh/istio/beacon-policies.ts'
import { ROOT_NAMESPACE } from '../../mesh/istio/mesh-config.ts'
import { meshLabels } from '../../mesh/istio/names.ts'
import { isNamedFor } from '../../mesh/istio/object-name.ts'
import { findTrustDomains } from '../../mesh/istio/trust-domains.ts'
import {
  runsWaypoint,
  waypointDeployment,
  waypointObjects,
  waypointPrincipals,
  waypointProblem,
} from '../../mesh/istio/waypoint.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { sortedGroups } from '../../platform/base/sorted-groups.ts'
import { isSameSubject, type Subject, subjectName } from '../../platform/base/subject.ts'
import { findLookup, isUnreadable, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { fieldManager, isOwnedBy } from '../../platform/kubernetes/ownership-labels.ts'
import { consumersOf, guardingConsumers } from './consumers.ts'
import { type Grants, grantsFor, NO_GRANTS, requestedServices } from './grants.ts'
import { guardsFor } from './guards.ts'
import { isAt, isOpenToIngress, podsOf } from './offer.ts'
import { ownGrants } from './own-grants.ts'
import { policiesIn, requestersOn } from './owned-policies.ts'
import { rootProblems, unknownRoot } from './root-namespaces.ts'
import {
  awaitsWaypoint,
  isOnMeshNow,
  isOnMeshWithNamespace,
  keepingOwnLabels,
  meshInEffect,
  ownNamespace,
} from './waypoint-switch.ts'

/**
 * Returns the labels of an application that a beacon serves, without those of a waypoint that is not serving yet. If the whole namespace is on the mesh,
 * the application has no labels, and its workers in other namespaces have those in `elsewhere`.
 */
export const beaconLabels = (
  subject: Subject,
  mesh: MeshConfig,
  state: EffectiveState,
  relation: Relation,
  lookups: Lookups,
): { labels: Record<string, string>; elsewhere?: Record<string, string> } => {
  const isWaiting = awaitsWaypoint(subject, mesh, relation, lookups)
  const labels = enrolmentLabels(subject, isWaiting ? { ...mesh, waypoint: false } : mesh)
  return isOnMeshWithNamespace(subject, mesh, state, relation, lookups) ? { labels: {}, elsewhere: labels } : { labels }
}

/** Returns the labels that put pods and Services on the mesh, and behind the beacon's waypoint if it runs one. */
export const enrolmentLabels = ({ namespace, application }: Subject, mesh: MeshConfig): Record<string, string> => {
  const { 'istio.io/dataplane-mode': mode = 'ambient', ...behindWaypoint } = meshLabels({
    model: namespace,
    application,
  })
  return { 'istio.io/dataplane-mode': mode, ...(runsWaypoint(mesh) && behindWaypoint) }
}

/** Lists the foreign objects that a beacon reads. */
export const beaconLookups = (subject: Subject, state: EffectiveState, mesh: MeshConfig): Reference[] => [
  ...waypointDeployment(subject, mesh),
  ownNamespace(subject),
  ...(isManaging(mesh) ? requestedServices(subject, state) : []),
  ...ingressGateway(subject, mesh),
]

/** Names the Gateway for external traffic. The list is empty if the config has no rule for that traffic. */
const ingressGateway = (
  { namespace, application: name }: Subject,
  { externalTraffic: cidrs, externalAuthorizer: provider }: MeshConfig,
): Reference[] => (cidrs || provider !== undefined ? [{ kind: 'Gateway', namespace, name }] : [])

/** The desired state of a beacon. */
export type BeaconDesiredState = {
  requests: RequestedPolicy[]
  guards: Guard[]
  /** Relations with unknown requests. */
  unknown: string[]
  objects: KubernetesObject[]
  waiting: Condition[]
  /** Requests that are not granted, and data that cannot be read. */
  unserved: string[]
  messages: string[]
  awaiting: EffectiveState['awaiting']
}

const awaitedOf = (isForLabels: boolean, isForClaims: boolean): EffectiveState['awaiting'] =>
  isForLabels ? 'labels-applied' : isForClaims ? 'claims-applied' : undefined

export const beaconDesiredState = (
  subject: Subject,
  state: EffectiveState,
  config: MeshConfig,
  owner: PolicyOwner,
  seen: ClusterView,
): BeaconDesiredState => {
  const { lookups } = seen
  const { mesh, leading, isSwitching, isDenying } = meshInEffect(subject, state, config, seen)
  const late = lateConsumers(state).map((relation) => subjectName(remoteSubject(subject, relation)))
  const unguarded = unguardedBackends(subject, state, mesh, seen)
  const isOpening = !config.hardened && mesh.guard === 'whenGranted' && consumersOf(state.relations).some(isSwitching)
  // nothing else is denied before all consumers let in whom they mean to
  const isDenied = mesh.hardened === true && (isDenying || late.length === 0)
  const isEnrolled = mesh.modelOnMesh !== true || isOnMeshNow(subject, lookups)
  const managed = managedPolicies(subject, state, mesh, seen, (relation) => !config.hardened && isSwitching(relation))
  return {
    ...managed,
    guards: [...managed.guards, ...backendGuards(subject, state, mesh, seen)],
    objects: [
      ...waypointObjects(subject, mesh, owner.labels),
      ...staticPolicies(subject, { ...mesh, hardened: isDenied }, owner, unguarded),
    ],
    waiting: [
      ...managed.waiting,
      ...keepingOwnLabels(subject, mesh, state, lookups).map((name) =>
        waitFor(
          [nameOf(ownNamespace(subject))],
          'PeerLags',
          `the labels of ${name}`,
          `${name} stays on the mesh by labels of its own until ${nameOf(ownNamespace(subject))} has those of the mesh`,
        ),
      ),
      ...waypointWaits(subject, config, mesh, lookups),
      ...(mesh.hardened && !isDenied ? [policiesWait('hardened mode', late)] : []),
      ...unguarded.map((name) => policiesWait(`the policy that lets the ingress reach ${name}`, [name])),
      ...(isEnrolled || late.length === 0 ? [] : [policiesWait(nameOf(ownNamespace(subject)), late)]),
      ...(leading.length > 0 ? [leadingWait(leading)] : []),
      ...rootProblems(subject, mesh, lookups),
      ...gatewayWaits(subject, mesh, lookups),
    ],
    messages: [...managed.messages, ...unknownRoot(subject, mesh, lookups)],
    awaiting: awaitedOf(leading.length > 0 || isOpening, unguarded.length > 0 || (late.length > 0 && isForAll(mesh))),
  }
}

/** Tells if a mesh is also for pods without labels of their own, or denies what no policy allows. */
const isForAll = ({ modelOnMesh, hardened }: MeshConfig): boolean => modelOnMesh === true || hardened === true

const THE_WAYPOINT = 'the waypoint'

const leadingWait = (leading: readonly string[]): Condition =>
  waitFor(
    leading,
    'PeerOnMesh',
    THE_WAYPOINT,
    `the waypoint stays until nothing leads to it: waiting for ${leading.join(', ')}`,
  )

const waypointWaits = (subject: Subject, config: MeshConfig, mesh: MeshConfig, lookups: Lookups): Condition[] =>
  waypointDeployment(subject, config)
    .map(nameOf)
    .filter((name) => !isUnreadable(lookups, name))
    .flatMap((name) => {
      const message = waypointProblem(name, mesh, findLookup(lookups, name))
      return message === undefined ? [] : [waitFor([name], 'NotReady', THE_WAYPOINT, message)]
    })

const gatewayWaits = (subject: Subject, mesh: MeshConfig, lookups: Lookups): Condition[] =>
  ingressGateway(subject, mesh)
    .map(nameOf)
    .filter((name) => !isUnreadable(lookups, name) && findLookup(lookups, name) === undefined)
    .map((name) =>
      waitFor(
        [name],
        'NotFound',
        'the policies for external traffic',
        `${name} does not exist: until it does, no policy guards traffic from outside`,
      ),
    )

const policiesWait = (object: string, late: readonly string[]): Condition =>
  waitFor(late, 'PeerLags', object, `${object} waits for the policies of ${late.join(', ')}`)

const managedPolicies = (
  subject: Subject,
  state: EffectiveState,
  mesh: MeshConfig,
  seen: ClusterView,
  isOpening: (relation: Relation) => boolean,
): Grants => {
  if (!isManaging(mesh)) return NO_GRANTS
  const grants = grantsFor(subject, state, seen.lookups, mesh, isOpening)
  const own = ownGrants(subject, state, mesh)
  return {
    requests: [...grants.requests, ...own.requests],
    guards: [...grants.guards, ...own.guards, ...lateGuards(subject, state, mesh, seen)],
    unknown: grants.unknown,
    waiting: [...grants.waiting, ...own.waiting],
    unserved: [...grants.unserved, ...own.unserved],
    messages: [...grants.messages, ...own.messages],
    isOpening: grants.isOpening,
  }
}

/** Guards the pods that hardened mode closes, of consumers that have yet to take over what the beacon wrote there. */
const lateGuards = (
  subject: Subject,
  state: EffectiveState,
  mesh: MeshConfig,
  seen: Pick<ClusterView, 'owned'>,
): Guard[] => {
  const isOurs = writtenBy(subject, seen)
  return lateConsumers(state)
    .map((relation) => ({ ...remoteSubject(subject, relation), relation: requesterName(subject, relation) }))
    .filter((consumer) => isOurs(podsOf(consumer)))
    .flatMap((consumer) => guardsFor(subject, mesh, consumer, []))
}

/** Guards the pods of backends. A policy that admits the ingress gateway would otherwise refuse the waypoint. */
const backendGuards = (subject: Subject, state: EffectiveState, mesh: MeshConfig, seen: ClusterView): Guard[] => {
  const isTaken = takenByConsumers(subject, state, seen)
  const principals = waypointPrincipals(subject, mesh)
  if (principals.length === 0) return []
  return mergeBackends(subject, mesh.backends ?? [])
    .filter((backend) => backend.ports.length > 0 && !isTaken(podsOf(backend)))
    .map((backend) => ({
      target: podsOf(backend),
      relation: configRequester(subject),
      principals,
    }))
}

/**
 * Lists the backends that have yet to let in the waypoint at their pods, because they write the policy for that themselves. A policy that admits the ingress
 * alone would refuse all other clients there. One that stands already stays.
 */
const unguardedBackends = (
  subject: Subject,
  state: EffectiveState,
  { backends = [] }: MeshConfig,
  seen: Pick<ClusterView, 'owned'>,
): string[] => {
  const late = lateConsumers(state).map((relation) => remoteSubject(subject, relation))
  return mergeBackends(subject, backends)
    .filter(({ ports, ...backend }) => ports.length > 0 && late.some((one) => isSameSubject(one, backend)))
    .filter((backend) => !isOpenToIngress(subject, seen, backend))
    .map(subjectName)
}

const staticPolicies = (
  subject: Subject,
  mesh: MeshConfig,
  owner: PolicyOwner,
  unguarded: readonly string[],
): KubernetesObject[] => {
  const { hardened = false, modelOnMesh = false, rootNamespace = ROOT_NAMESPACE } = mesh
  const { externalTraffic: cidrs, backends = [], externalAuthorizer: provider } = mesh
  const gateway = subject.application
  return [
    // without it, hardened mode would refuse the controller
    ...(modelOnMesh && (isManaging(mesh) || hardened) ? [modeloperatorAllow(owner)] : []),
    ...(cidrs ? [externalTraffic(owner, { gateway, cidrs })] : []),
    ...mergeBackends(subject, backends)
      .filter((backend) => !unguarded.includes(subjectName(backend)))
      .flatMap((backend) => ingressToBackend(owner, backend, ...findTrustDomains(mesh, subject.namespace))),
    ...(provider === undefined ? [] : [externalAuthorizer(owner, { gateway, provider })]),
    ...(hardened ? hardenedMode(owner, rootNamespace) : []),
  ]
}

/** Merges the backends of each application into one with all their ports. */
const mergeBackends = (subject: Subject, backends: NonNullable<MeshConfig['backends']>): IngressBackend[] =>
  sortedGroups(
    backends.map(({ namespace = subject.namespace, ...backend }) => ({ namespace, ...backend })),
    ({ namespace, application }) => `${namespace}/${application}`,
  ).flatMap(([, same]) => same.slice(0, 1).map((one) => ({ ...one, ports: same.flatMap(({ ports }) => ports) })))

/**
 * Creates a test for the targets at which consumers write what the config asks for, by the offer. What the beacon has written there stays until its
 * consumer has applied the offer. It is the consumer's as soon as that has taken it over.
 */
const takenByConsumers = (
  subject: Subject,
  { relations }: EffectiveState,
  seen: Pick<ClusterView, 'owned' | 'lookups'>,
): ((target: PolicyTarget | undefined) => boolean) => {
  const isOurs = writtenBy(subject, seen)
  const guarding = guardingConsumers(relations)
  return (target) =>
    target !== undefined &&
    guarding.some((one) => isAt(subject, target, one, seen.lookups) && (one.requirer === 'applied' || !isOurs(target)))
}

/** Lists the Services by other names that the config asks for, and that may be those of consumers. The objects in the cluster show it. */
export const servicesAtConsumers = (subject: Subject, { config, relations }: EffectiveState): Reference[] => {
  const guarding = guardingConsumers(relations).map((relation) => remoteSubject(subject, relation))
  const namespaces = new Set(guarding.map(({ namespace }) => namespace))
  const own = new Set(guarding.map(subjectName))
  return (config?.meshPolicies ?? []).flatMap(
    ({ target_type: type, target_namespace: namespace, target_service: name }) =>
      type === 'app' && name && namespaces.has(namespace) && !own.has(subjectName({ namespace, application: name }))
        ? [{ kind: 'Service' as const, namespace, name }]
        : [],
  )
}

/** Creates a test for targets with a policy that is the beacon's. */
const writtenBy = (subject: Subject, { owned }: Pick<ClusterView, 'owned'>): ((target: PolicyTarget) => boolean) => {
  const policies = policiesIn(owned).filter((policy) => isOwnedBy(policy, fieldManager(subject.application)))
  return (target) => policies.some((policy) => isNamedFor(subject, target, policy))
}

/** The requests of the config itself, without those that consumers take with the offer. */
export const customRequests = (
  subject: Subject,
  state: EffectiveState,
  seen: Pick<ClusterView, 'owned' | 'lookups'>,
): RequestedPolicy[] => {
  const isTaken = takenByConsumers(subject, state, seen)
  return (state.config?.meshPolicies ?? [])
    .filter((policy) => !isTaken(findTarget(policy)))
    .map((policy) => ({ policy, relation: configRequester(subject) }))
}

/** Lists the requesters on the beacon's own policies that stay: of relations that are not known, and of consumers that have yet to take them over. */
export const keptRequests = (
  subject: Subject,
  { state, over }: Pick<ResolvedRelations, 'state' | 'over'>,
  { owned }: ClusterView,
): string[] => {
  const consumers = consumersOf(state.relations).map((one) => ({ id: one.id, remote: remoteSubject(subject, one) }))
  const known = new Set([...consumers, ...over].map(({ id, remote }) => (remote ? `${id} ${subjectName(remote)}` : id)))
  const late = new Set(lateConsumers(state).map((one) => requesterName(subject, one)))
  return requestersOn(owned).filter((name) => {
    const parsed = parseRequester(name)
    if (parsed === undefined || isSameSubject(parsed.requester, subject)) return false
    // the end of a relation may have named nobody
    const isKnown = known.has(parsed.id) || known.has(`${parsed.id} ${subjectName(parsed.requester)}`)
    return late.has(name) || (state.removed === undefined && !isKnown)
  })
}
