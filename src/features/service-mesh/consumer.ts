import * as z from 'zod'
import type { ClusterView } from '../../core/feature/feature.ts'
import { listedPolicies } from '../../core/policies/models.ts'
import { namesProblem } from '../../core/policies/name-problem.ts'
import { type CrossModelIdentity, readCrossModelIdentity } from '../../core/relations/databags/cross-model.ts'
import { readValue } from '../../core/relations/databags/databag.ts'
import { readOrLast } from '../../core/relations/databags/last-readable.ts'
import { type Relation, relationName, relationsIn, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { Condition } from '../../platform/base/condition.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { externalPolicies } from '../coordinated-workers/policies.ts'
import { declaredGuards, type Guarded, nobodyMayReach } from './declared-targets.ts'
import { isRelated, relatedPolicies, unservedJobs, withoutService } from './related.ts'
import { type AskedPolicy, type PolicyRelation, type RequestedPolicies, requestPolicies } from './request-policies.ts'
import { unenforceable } from './services.ts'
import { arePodsGuarded, type SeenPods, unselectedPods } from './unselected-pods.ts'

/** The requests of an application, and the problems in its relations. */
export type ConsumerPolicies = RequestedPolicies & { messages: string[] }

/** Derives requests from config and relations. Names that Kubernetes would refuse are dropped, because a wildcard would match any client. */
export const consumerPolicies = (
  subject: Subject,
  state: EffectiveState,
  policies: readonly AskedPolicy[] = authorPolicies(subject, state),
): ConsumerPolicies => {
  const relations = relationsIn(state)
  const identities = relationsWith(state.relations, { interface: 'cross_model_mesh', role: 'provides' }).map(
    readIdentity,
  )
  const requested = requestPolicies({
    ...subject,
    policies,
    relations: relations.map((relation) => ({ ...relation, ...identityOf(relation.remote, identities) })),
  })
  const isNeeded = policies.length > 0
  const checked = requested.requested.map((one) => ({ ...one, problem: namesProblem(one.policy) }))
  return {
    requested: checked.flatMap(({ problem, ...one }) => (problem === undefined ? [one] : [])),
    waiting: requested.waiting,
    messages: [
      ...(isNeeded ? identities.flatMap(({ message }) => message ?? []) : []),
      ...checked.flatMap(({ problem, relation }) =>
        problem === undefined ? [] : [`${relationName(relation)}: ${problem}: it gets no policy`],
      ),
    ],
  }
}

/** Reports the problems of a consumer's policies. The report is empty for an application without a beacon. */
export const consumerReport = (
  subject: Subject,
  state: EffectiveState,
  seen: Pick<ClusterView, 'lookups'> & SeenPods,
): Pick<ConsumerPolicies, 'waiting' | 'messages'> & { unserved: string[] } => {
  if (selectBeacons(state).length === 0) return { waiting: [], messages: [], unserved: [] }
  const { waiting, messages } = consumerPolicies(subject, state)
  const unenforced = unenforceable(subject, state, seen)
  return {
    waiting: [...waiting, ...unguardable(subject, state, seen), ...unenforced],
    unserved: [...messages, ...unservedJobs(subject, state)],
    messages: [...withoutService(subject, state), ...closedTargets(subject, state, seen, unenforced)],
  }
}

/** The targets that the application declares by its config or its relations. */
export const declaredTargets = (subject: Subject, state: EffectiveState): Guarded[] =>
  declaredGuards(subject, state, authorPolicies(subject, state))

/** Reports pods that the policies of the application do not select. */
export const unguardable = (subject: Subject, state: EffectiveState, seen: SeenPods): Condition[] =>
  declaredTargets(subject, state).length > 0 ? unselectedPods(subject, state, seen) : []

const selectBeacons = ({ relations }: EffectiveState): Relation[] =>
  relationsWith(relations, { interface: 'service_mesh', role: 'requires' })

/** Names guarded targets that no relation opens to any client. None is closed if policies do not hold for the pods, or wait for a Service. */
export const closedTargets = (
  subject: Subject,
  state: EffectiveState,
  seen: SeenPods,
  waiting: readonly Condition[],
): string[] => {
  if (waiting.some(({ reason }) => reason === 'ServiceUnguarded')) return []
  if (!selectBeacons(state).some(isGuarding) || !arePodsGuarded(subject, state, seen)) return []
  const unrelated = declaredTargets(subject, state).filter((one) => one.unrelated)
  return unrelated.map((one) => nobodyMayReach(subject, one))
}

const Guard = z.string()

/** Tells if the beacon guards declared targets. A beacon that another program runs may not. */
const isGuarding = ({ source, remote }: Relation): boolean => {
  const guard = readValue(remote.data, 'guard', Guard)
  return source === 'peer' && !('unreadable' in guard) && guard.value !== 'whenGranted'
}

/** Returns the policies of the config, or those that follow from the relations. A coordinator adds those for metrics scraping. */
export const authorPolicies = (subject: Subject, state: EffectiveState): readonly AskedPolicy[] => {
  const { config } = state
  const policies = isRelated(state) ? relatedPolicies(subject, state) : listedPolicies(config?.policies)
  return config?.coordinator ? externalPolicies(config.coordinator, policies) : policies
}

type Identity = { remote: Relation['remote']; known?: CrossModelIdentity; message?: string }

/**
 * Finds the identity of a peer by the name that the platform has for it. A `cross_model_mesh` relation without a namespace is about an alias, whichever
 * namespace that is in. The identity is unknown while two of one alias say that they are in different namespaces.
 */
const identityOf = (
  { application, namespace }: Relation['remote'],
  identities: readonly Identity[],
): Pick<PolicyRelation, 'isAlias' | 'identity'> => {
  const namesake = identities.filter(({ remote }) => remote.application === application)
  const aliases = namesake.filter(({ remote }) => remote.namespace === undefined)
  const told = namesake.filter(({ remote }) => namespace !== undefined && remote.namespace === namespace)
  const known = [...aliases, ...told].flatMap((one) => one.known ?? [])
  const agreed = known.filter((one) => one.namespace === (namespace ?? known[0]?.namespace))
  const isClear = namespace !== undefined || agreed.length === known.length
  const identity = isClear ? (agreed.at(-1) ?? known.at(-1)) : undefined
  return { ...(aliases.length > 0 && { isAlias: true }), ...(identity && { identity }) }
}

const readIdentity = (relation: Relation): Identity => {
  const { remote, lastReadable } = relation
  const { value: read, unreadable } = readOrLast(remote.data, lastReadable, 'cmr_data', readCrossModelIdentity)
  const value = read?.value
  return {
    remote,
    ...(value && { known: value }),
    ...(unreadable !== undefined && {
      message: `${relationName(relation)}: ${unreadable}; ${value ? 'the last readable data stays in effect' : 'treated as absent'}`,
    }),
  }
}
