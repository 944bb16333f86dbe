import type { Facts } from './facts.ts'
import type { KubernetesObject, Reference } from './kubernetes/objects.ts'
import { type DesiredLabels, desiredLabels } from './labels/desired.ts'
import { beaconDesire, beaconLookups } from './mesh/beacon.ts'
import { consumerPolicies } from './mesh/consumer.ts'
import { ownerLabels } from './owner.ts'
import { authorizationPolicies, type PolicyRequest } from './policies/grant.ts'
import { rawPolicies } from './policies/raw.ts'
import { at } from './record.ts'
import { type OwnedKind, relationsIn, type State, type Subject } from './state.ts'

/** What a memory desires of the cluster. */
export type Desired = {
  readonly labels: DesiredLabels
  readonly objects: readonly KubernetesObject[]
  /** What does not exist yet, a sentence each: the step is not done before it does. */
  readonly waiting: readonly string[]
  readonly messages: readonly string[]
}

/** The objects of others that the desire depends on. */
export const lookups = (subject: Subject, state: State): Reference[] =>
  state.config?.mesh ? beaconLookups(subject, state, state.config.mesh) : []

/** The kinds of which the config may desire objects; a beacon looks after the labels of its namespace. */
export const ownedKinds = ({ config }: State): OwnedKind[] => {
  const hasPolicies = [config?.meshPolicies, config?.rawPolicies].some((policies) => (policies ?? []).length > 0)
  if (config?.mesh) return ['AuthorizationPolicy', 'Gateway', 'HorizontalPodAutoscaler', 'Namespace']
  return hasPolicies ? ['AuthorizationPolicy'] : []
}

/** What the memory of an application desires, as a pure function of it and of the facts that it looks up. */
export const desire = (subject: Subject, state: State, facts: Facts): Desired => {
  const { config } = state
  const owner = { ...subject, labels: ownerLabels(subject) }
  const beacon = config?.mesh && beaconDesire(subject, state, config.mesh, owner, facts)
  const requests = [...(beacon?.requests ?? []), ...customRequests(subject, state)]
  const consumer = isConsumer(state) ? consumerPolicies(subject, state) : undefined
  const labels = desiredLabels(subject, state)
  return {
    labels,
    objects: [
      ...(beacon?.objects ?? []),
      ...authorizationPolicies(requests, {
        ...owner,
        trustDomain: config?.mesh?.trustDomain ?? config?.trustDomain ?? 'cluster.local',
        serviceAccount: (namespace, application) =>
          at(config?.serviceAccounts, `${namespace}/${application}`) ?? application,
      }),
      ...rawPolicies(owner, config?.rawPolicies ?? []),
    ],
    waiting: [...(consumer?.waiting ?? []), ...(beacon?.waiting ?? [])],
    messages: [...labels.messages, ...(consumer?.messages ?? []), ...(beacon?.messages ?? [])],
  }
}

const isConsumer = (state: State): boolean =>
  relationsIn(state).some(({ interface: name, role }) => name === 'service_mesh' && role === 'requires')

const customRequests = ({ namespace, application }: Subject, { config }: State): PolicyRequest[] =>
  (config?.meshPolicies ?? []).map((policy) => ({ policy, relation: `config of ${namespace}/${application}` }))
