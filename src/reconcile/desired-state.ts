import { at } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import type { Config } from '../config.ts'
import {
  type ClusterDesire,
  clusterDesire,
  clusterRequesters,
  dependsOnUnknown,
} from '../coordinated-workers/desire.ts'
import { clusterLookups, type Surroundings } from '../coordinated-workers/surroundings.ts'
import { audited } from '../istio/audit.ts'
import { effectWarnings } from '../istio/effect.ts'
import { authorizationPolicies, type PolicyRequest } from '../istio/grant.ts'
import { rawPolicies } from '../istio/raw.ts'
import { trustDomainsOf } from '../istio/trust-domains.ts'
import type { WantedLabels } from '../kubernetes/label-difference.ts'
import { type Facts, factAt } from '../kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../kubernetes/objects.ts'
import { ownerLabels } from '../kubernetes/owner.ts'
import { ownedKeys } from '../relations/application-data.ts'
import { type Effective, isAwaiting } from '../relations/effective.ts'
import { FOREIGN_KEYS, MESH_KEYS } from '../relations/foreign-labels.ts'
import { isAskedFor } from '../relations/progress.ts'
import { beaconDesire, beaconLookups, isManaging } from '../service-mesh/beacon.ts'
import { consumerReport } from '../service-mesh/consumer.ts'
import { type DesiredLabels, desiredLabels } from '../service-mesh/desired-labels.ts'
import { auditedRequesters } from '../service-mesh/enforcement.ts'
import { servicesOfPolicies } from '../service-mesh/services.ts'
import { offeredServices } from '../services/offered.ts'
import { type Relation, requesterName } from '../state/relation.ts'
import { type EffectiveState, isConfigUnknown, type OwnedKind, type State } from '../state/state.ts'
import { acceptedWorkload, specWarnings } from '../workload/accepted.ts'
import { loopMessage, loopOf } from '../workload/churn/history.ts'
import { ownWorkload } from '../workload/config.ts'
import { heldMessages } from '../workload/data-churn.ts'
import { secretObjects, workloadKinds, workloadObjects } from '../workload/objects.ts'
import { storeName } from '../workload/secrets.ts'

/** What a memory desires of the cluster. */
export type Desired = {
  readonly labels: DesiredLabels
  /** Of the template of the pods. */
  readonly annotations: WantedLabels
  readonly objects: readonly KubernetesObject[]
  /** Whose requests cannot be read: what was made for them stays. */
  readonly unknown: readonly string[]
  /** What does not exist yet, a sentence each: the step is not done before it does. */
  readonly waiting: readonly string[]
  readonly messages: readonly string[]
}

/** The objects of others that the desire depends on. */
export const lookups = (subject: Subject, { state }: Effective): Reference[] => [
  ...(state.config?.mesh ? beaconLookups(subject, state, state.config.mesh) : []),
  ...servicesOfPolicies(subject, state),
  ...clusterLookups(subject, state),
  ...(ownWorkload(state.config)?.secrets ? [storeReference(subject)] : []),
]

const storeReference = ({ namespace, application }: Subject): Reference => ({
  kind: 'Secret',
  namespace,
  name: storeName(application),
})

/** The labels that are desired. Those of relations with unknown data are kept. */
export const labelsOf = (subject: Subject, resolved: Effective): DesiredLabels => {
  const { state, unknown } = resolved
  const labels = desiredLabels(subject, state)
  const isAllUnknown = unknown.some(({ role }) => role === 'requires') || labels.unknown === 'all'
  if (isAllUnknown || (state.carried && isConfigUnknown(state))) return { ...labels, unknown: 'all' }
  return state.carried || isAwaiting(resolved) ? { ...labels, unknown: [...labels.unknown, ...FOREIGN_KEYS] } : labels
}

/** Whether it is known by now what asks for the labels that a lost memory left on the workload. */
export const isEnrolmentKnown = (subject: Subject, resolved: Effective): boolean =>
  isAskedFor(resolved) || MESH_KEYS.some((key) => Object.hasOwn(desiredLabels(subject, resolved.state).labels, key))

/** The kinds of which the config may desire objects; a beacon looks after the labels of its namespace. */
export const ownedKinds = ({ config }: Pick<State, 'config'>): OwnedKind[] => {
  const hasPolicies = [config?.meshPolicies, config?.rawPolicies].some((policies) => (policies ?? []).length > 0)
  const workload = ownWorkload(config)
  const kinds: OwnedKind[] = [
    ...(hasPolicies || config?.mesh || config?.coordinator ? (['AuthorizationPolicy'] as const) : []),
    ...(config?.coordinator?.telemetryProxy || config?.coordinator?.nginx ? (['ConfigMap'] as const) : []),
    ...(config?.mesh ? (['Gateway', 'HorizontalPodAutoscaler', 'Namespace'] as const) : []),
    ...(workload ? workloadKinds(workload) : []),
  ]
  return [...new Set(kinds)]
}

/** What the memory of an application desires, as a pure function of it, of the facts that it looks up, and of where it runs. */
export const desire = (subject: Subject, resolved: Effective, facts: Facts, surroundings: Surroundings): Desired => {
  const { state, blocked, problems, unknown } = resolved
  const { config } = state
  const owner = { ...subject, labels: ownerLabels(subject) }
  const beacon = config?.mesh && beaconDesire(subject, state, meshIn(config), owner, facts)
  const cluster = clusterDesire(subject, state, surroundings)
  const requests = [...(beacon?.requests ?? []), ...cluster.requests, ...customRequests(subject, state)]
  const consumer = consumerReport(subject, state, facts)
  const labels = labelsOf(subject, resolved)
  const services = offeredServices(subject, state)
  const isClusterUnknown = dependsOnUnknown(state, unknown)
  const workload = workloadDesire(subject, state, facts)
  const raw = rawPolicies(owner, config?.rawPolicies ?? [])
  const objects = [
    ...(beacon?.objects ?? []),
    ...authorizationPolicies(requests, { ...owner, ...identitiesIn(config) }, [
      ...(beacon?.guards ?? []),
      ...cluster.guards,
    ]),
    ...raw,
    ...[...cluster.objects, ...workload.objects].map((object) => labelled(object, owner.labels)),
  ]
  const audit = audited(objects, auditedRequesters(subject, state))
  const named = [...Map.groupBy(audit.objects, ({ kind, metadata }) => nameOf({ kind, ...metadata }))]
  return {
    labels,
    annotations: annotationsOf(cluster, isClusterUnknown),
    objects: named.flatMap(([, same]) => same.slice(0, 1)),
    unknown: [
      ...(beacon?.unknown ?? []),
      ...requestersUnknown(subject, config, unknown),
      ...(isClusterUnknown ? clusterRequesters(subject, state) : []),
      ...workload.unknown,
    ],
    // a beacon that is a consumer of another one as well has the same to say of some relations
    waiting: distinct([
      ...lostEnrolment(subject, state),
      ...consumer.waiting,
      ...(beacon?.waiting ?? []),
      ...cluster.waiting,
      ...services.waiting,
    ]),
    messages: distinct([
      ...blocked,
      ...problems,
      ...labels.messages,
      ...consumer.messages,
      ...(beacon?.messages ?? []),
      ...cluster.messages,
      ...services.problems,
      ...workloadMessages(subject, state),
      ...ownedKeys(config?.databag, state.relations),
      ...ownedKeys(state.databag, state.relations),
      ...audit.messages,
      ...raw.flatMap((policy) => effectWarnings(policy, config?.mesh?.rootNamespace ?? 'istio-system')),
      ...named.flatMap(([name, { length }]) => (length > 1 ? [`${name} ${REPEATED}`] : [])),
    ]),
  }
}

const lostEnrolment = ({ namespace, application }: Subject, { carried }: EffectiveState): string[] =>
  carried ? [`${namespace}/${application} ${STAYS_ON_MESH}`] : []

const STAYS_ON_MESH =
  'stays on the mesh, as its memory was lost and nothing says what put it there: tell that relation, or its end with its interface'

const annotationsOf = ({ annotations }: Pick<ClusterDesire, 'annotations'>, isUnknown: boolean): WantedLabels => ({
  labels: annotations,
  unknown: isUnknown ? 'all' : [],
  inherited: {},
})

const REPEATED = 'is in the config more than once, or made for it by another part of it: only the first is applied'

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]

/** The mesh that the config describes; the trust domain may be said for the application as a whole. */
const meshIn = ({ trustDomain = 'cluster.local', mesh }: Config) => ({ trustDomain, ...mesh })

/** How the callers of the application's own policies are identified. */
const identitiesIn = (config: Config = {}) => ({
  trustDomain: meshIn(config).trustDomain,
  trustDomains: (namespace: string) => trustDomainsOf(meshIn(config), namespace),
  serviceAccount: (namespace: string, application: string) =>
    at(config.serviceAccounts, `${namespace}/${application}`) ?? application,
})

/** The requests of relations with unknown data; none where nothing is granted. */
const requestersUnknown = (subject: Subject, config: Config | undefined, unknown: readonly Relation[]): string[] =>
  config?.mesh && isManaging(config.mesh) ? unknown.map((relation) => requesterName(subject, relation)) : []

/** The workload that is ours to deploy, with the last pod spec that was accepted. */
const workloadDesire = (subject: Subject, state: EffectiveState, facts: Facts) => {
  const workload = acceptedWorkload(state)
  if (workload === undefined) return { objects: [], unknown: [] }
  const { data = {} } = factAt(facts, nameOf(storeReference(subject))) ?? {}
  const secrets = secretObjects(subject, workload, data)
  return { objects: [...secrets.objects, ...workloadObjects(subject, workload)], unknown: secrets.unknown }
}

const workloadMessages = ({ application }: Subject, state: EffectiveState): string[] => {
  const loop = loopOf(state.specs)
  return [...(loop ? [loopMessage(loop)] : specWarnings(state, application)), ...heldMessages(state)]
}

const labelled = (object: KubernetesObject, labels: Readonly<Record<string, string>>): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } },
})

const customRequests = ({ namespace, application }: Subject, { config }: EffectiveState): PolicyRequest[] =>
  (config?.meshPolicies ?? []).map((policy) => ({ policy, relation: `config of ${namespace}/${application}` }))
