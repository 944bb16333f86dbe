import type { ClusterView } from '../../core/feature/feature.ts'
import { listedPolicies } from '../../core/policies/models.ts'
import type { Config } from '../../core/state/config.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { labelledService } from '../../core/workload/label-targets.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { findLookup, isUnreadable } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { hasNoPort, isHeadless, isServiceOf, NAME_LABEL } from '../../platform/kubernetes/services.ts'
import { isRelated } from './related.ts'
import { leadsElsewhere, type SeenPods } from './unselected-pods.ts'

/** The limit of named Services. Each costs a read in every step, here and at the beacon. */
const MOST_NAMED_SERVICES = 20

/** Lists the Services that policies name, besides the labelled one. Nothing enforces their policies without the waypoint's label. */
export const namedServices = (application: string, config: Config = {}): string[] => {
  const named = listedPolicies(config.policies).flatMap((policy) =>
    policy.type === 'app' ? [policy.service || application] : [],
  )
  const own = labelledService(application, config)
  return [...new Set(named)].filter((name) => name !== own).slice(0, MOST_NAMED_SERVICES)
}

export const HEADLESS = 'is headless, so that requests go past its waypoint straight to the pods: ask for type unit'

const ELSEWHERE =
  'does not select the pods of the application, so that its policies hold for other pods or for none: correct its selector'

const NO_PORT =
  'has no port but the placeholder of Juju: related applications reach nothing there until the charm opens a port'

/** Lists the Services to label, which the application's own policies name. */
export const servicesOfPolicies = ({ namespace, application }: Subject, state: EffectiveState): Reference[] => {
  const { config } = state
  const own = labelledService(application, config ?? {})
  const labelled = [...(own === null ? [] : [own]), ...namedServices(application, config)]
  const named = new Set([
    ...listedPolicies(config?.policies).flatMap((one) => (one.type === 'app' ? [one.service || application] : [])),
    ...(isRelated(state) ? [own] : []),
  ])
  return labelled.filter((name) => named.has(name)).map((name) => ({ kind: 'Service', namespace, name }))
}

/** Reports Services without a waypoint, where nothing enforces the grants, and those that lead to other pods, with the remedy. */
export const unenforceable = (
  subject: Subject,
  state: EffectiveState,
  { lookups, ...seen }: Pick<ClusterView, 'lookups'> & SeenPods,
): Condition[] =>
  servicesOfPolicies(subject, state).flatMap((reference) => {
    const name = nameOf(reference)
    if (!lookups.has(name) || isUnreadable(lookups, name)) return []
    const service = findLookup(lookups, name)
    const why = service ? whyUnenforceable(subject, state, service, seen) : whyMissing(subject, state, reference)
    return why === undefined ? [] : [waitFor([name], 'ServiceUnguarded', name, `${name} ${why}`)]
  })

const whyUnenforceable = (
  subject: Subject,
  state: EffectiveState,
  service: KubernetesObject,
  seen: SeenPods,
): string | undefined => {
  const unreachable = whyUnreachable(service, state)
  if (unreachable !== undefined) return unreachable
  if (isServiceOf(subject, service)) return leadsElsewhere(service, seen) ? ELSEWHERE : undefined
  const loss = isNamed(subject, state, service.metadata.name) ? 'no label of the waypoint, and no policy' : 'no policy'
  return `does not select the pods of ${subject.application} by ${NAME_LABEL}: it gets ${loss}`
}

/** The labelled Service is reported with its labels, if it is missing. */
const whyMissing = (subject: Subject, state: EffectiveState, { name = '' }: Reference): string | undefined =>
  isNamed(subject, state, name)
    ? `does not exist: its waypoint's label is applied by the next event after it does`
    : undefined

const whyUnreachable = (service: KubernetesObject, state: EffectiveState): string | undefined => {
  if (isHeadless(service)) return HEADLESS
  return isRelated(state) && hasNoPort(service) ? NO_PORT : undefined
}

/** Tells if policies name a Service besides the labelled one. */
const isNamed = ({ application }: Subject, { config }: EffectiveState, name: string): boolean =>
  namedServices(application, config).includes(name)
