import { listedPolicies, type MeshPolicy, type Policy } from '../../core/policies/models.ts'
import { relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { labelledService } from '../../core/workload/label-targets.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { isRelated, providedRelations } from './related.ts'
import type { AskedPolicy } from './request-policies.ts'

/** A target that an application guards: its pods, or a Service, by default that of its name. */
export type Guarded = {
  readonly type: 'app' | 'unit'
  readonly service?: string | null
  /** Endpoints in policies of the target. None of them has a relation, so nobody is admitted. */
  readonly unrelated?: readonly string[]
}

/** A declared target. `endpoint` is the endpoint whose relations would open it. Targets of the application's own requests have no endpoint. */
type Declaration = Pick<Guarded, 'type' | 'service'> & { readonly isRelated: boolean; readonly endpoint?: string }

/** Lists the targets that `policies` and the config's own requests declare, each once, with or without a relation. */
export const declaredGuards = (
  subject: Subject,
  state: EffectiveState,
  policies: readonly AskedPolicy[],
): Guarded[] => {
  const { relations, config } = state
  const declared = [
    ...(isRelated(state) ? [relatedTarget(subject, state)] : []),
    ...policies.map((policy): Declaration => {
      const { type, relation: endpoint, only } = policy
      const isRelated = relationsWith(relations, { endpoint, ...only }).length > 0
      const isSaid = listedPolicies(config?.policies).includes(policy)
      return { type, service: otherService(subject, policy), isRelated, ...(isSaid && { endpoint }) }
    }),
    ...(config?.meshPolicies ?? []).flatMap((policy) => ownTarget(subject, policy)),
  ]
  const byTarget = Map.groupBy(declared, ({ type, service }) => JSON.stringify([type, service]))
  return [...byTarget.values()].flatMap((same): Guarded[] => {
    const isClosed = same.every(({ isRelated }) => !isRelated)
    const unrelated = isClosed ? [...new Set(same.flatMap(({ endpoint = [] }) => endpoint))] : []
    return same
      .slice(0, 1)
      .map(({ type, service }) => ({ type, ...(service && { service }), ...(unrelated.length > 0 && { unrelated }) }))
  })
}

/** The target of `related`: the Service of the application, or its pods if it has none. */
const relatedTarget = (subject: Subject, state: EffectiveState): Declaration => {
  const service = labelledService(subject.application, state.config ?? {})
  return {
    type: service === null ? 'unit' : 'app',
    service: service === subject.application ? null : service,
    isRelated: providedRelations(state).length > 0,
    endpoint: ANY_ENDPOINT,
  }
}

/** Stands for all endpoints in which the application provides. */
const ANY_ENDPOINT = '*'

/** Returns the name of another Service. It is null for the Service of the application's name, and for pods. */
const otherService = ({ application }: Subject, policy: Policy): string | null => {
  const service = policy.type === 'app' ? policy.service : undefined
  return service && service !== application ? service : null
}

const ownTarget = (
  { namespace, application }: Subject,
  { target_namespace, target_app_name, target_service, target_type: type }: MeshPolicy,
): Declaration[] => {
  if (target_namespace !== namespace || (target_app_name ?? target_service) !== application) return []
  return [{ type, service: target_service === application ? null : target_service, isRelated: true }]
}

export const guardTitle = ({ namespace, application }: Subject, { type, service }: Guarded): string =>
  type === 'app' ? `${namespace}/${service ?? application}` : `the pods of ${namespace}/${application}`

/** Reports that a guarded target is closed to all clients, with the reason. Policies that others write may let in somebody. */
export const nobodyMayReach = (subject: Subject, guarded: Guarded): string => {
  const { unrelated } = guarded
  const reason = unrelated?.length ? noRelation(unrelated) : 'nothing is granted there'
  return `by its relations nobody may reach ${guardTitle(subject, guarded)}: ${reason}`
}

const noRelation = (endpoints: readonly string[]): string =>
  endpoints.includes(ANY_ENDPOINT)
    ? 'no relation in which it provides something'
    : `no relation of endpoint ${endpoints.join(', ')}`
