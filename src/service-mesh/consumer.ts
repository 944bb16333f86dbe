import * as z from 'zod'
import type { Subject } from '../base/subject.ts'
import { externalPolicies } from '../coordinated-workers/policies.ts'
import type { Policy } from '../istio/models.ts'
import { namesProblem } from '../istio/name-problem.ts'
import type { Lookups } from '../kubernetes/lookups.ts'
import { type CrossModelIdentity, readCrossModelIdentity } from '../relations/cross-model.ts'
import { read } from '../relations/databag.ts'
import { relationsWith } from '../relations/select.ts'
import { type Relation, relationName, relationsIn } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'
import { declaredGuards, nobodyMayReach } from './guards.ts'
import { type RequestedPolicies, requestPolicies } from './request-policies.ts'
import { unenforceable } from './services.ts'

/** What an application asks for, what it waits for, and what of its relations cannot be read. */
export type ConsumerPolicies = RequestedPolicies & { messages: string[] }

/** What the config and the relations of an application ask for; a name that Kubernetes would refuse is nobody's, a wildcard above all. */
export const consumerPolicies = (
  subject: Subject,
  state: EffectiveState,
  policies: readonly Policy[] = authorPolicies(state),
): ConsumerPolicies => {
  const relations = relationsIn(state)
  const crossModel = relationsWith(state.relations, { interface: 'cross_model_mesh', role: 'provides' })
  const identities = crossModel.map(identityIn)
  const requested = requestPolicies({
    ...subject,
    policies,
    // whoever has a relation to tell its name is not what it is called here
    relations: relations.map((relation) => ({
      ...relation,
      crossModel: crossModel.some(({ remote }) => isSameRemote(remote, relation.remote)),
    })),
    identities: byAlias(identities.flatMap(({ known }) => known ?? [])),
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

/** Reports what a consumer waits for, and what a person should know of its policies: nothing of an application without a beacon. */
export const consumerReport = (
  subject: Subject,
  state: EffectiveState,
  facts: Lookups,
): Pick<ConsumerPolicies, 'waiting' | 'messages'> => {
  if (beaconsOf(state).length === 0) return { waiting: [], messages: [] }
  const { waiting, messages } = consumerPolicies(subject, state)
  return {
    waiting: [...waiting, ...unenforceable(subject, state, facts)],
    messages: [...messages, ...closedTargets(subject, state)],
  }
}

const beaconsOf = ({ relations }: EffectiveState): Relation[] =>
  relationsWith(relations, { interface: 'service_mesh', role: 'requires' })

/** Names the targets that are guarded and that no relation lets anybody reach. */
export const closedTargets = (subject: Subject, state: EffectiveState): string[] => {
  if (!beaconsOf(state).some(isGuarding)) return []
  const unrelated = declaredGuards(subject, state, authorPolicies(state)).filter((one) => one.unrelated)
  return unrelated.map((one) => nobodyMayReach(subject, one))
}

const Guard = z.string()

/** Whether the beacon guards what is declared: one that something else runs may not. */
const isGuarding = ({ speaks, remote }: Relation): boolean => {
  const guard = read(remote.data, 'guard', Guard)
  return speaks === true && !('unreadable' in guard) && guard.value !== 'whenGranted'
}

/** What the config says of who may talk to the application; a coordinator is scraped besides. */
export const authorPolicies = ({ config }: EffectiveState): Policy[] =>
  config?.coordinator ? externalPolicies(config.coordinator, config.policies ?? []) : (config?.policies ?? [])

const isSameRemote = (one: Relation['remote'], other: Relation['remote']): boolean =>
  one.application === other.application &&
  (one.namespace === undefined || other.namespace === undefined || one.namespace === other.namespace)

type Known = { alias: string; identity: CrossModelIdentity }

/** Under its alias alone only where no other namespace has an application of the same alias. */
const byAlias = (known: readonly Known[]): Record<string, CrossModelIdentity> => {
  const qualified = known.map(({ alias, identity }) => [`${identity.namespace}/${alias}`, identity] as const)
  const unique = known.filter(({ alias, identity }) =>
    known.every((other) => other.alias !== alias || other.identity.namespace === identity.namespace),
  )
  return Object.fromEntries([...qualified, ...unique.map(({ alias, identity }) => [alias, identity] as const)])
}

type Identity = { known?: Known; message?: string }

const identityIn = (relation: Relation): Identity => {
  const read = readCrossModelIdentity(relation.remote.data)
  const kept = 'unreadable' in read ? readCrossModelIdentity({ ...relation.kept }) : read
  const value = 'unreadable' in kept ? undefined : kept.value
  return {
    ...(value && { known: { alias: relation.remote.application, identity: value } }),
    ...('unreadable' in read && {
      message: `${relationName(relation)}: ${read.unreadable}; ${value ? 'what it said before holds' : 'it counts as not there'}`,
    }),
  }
}
