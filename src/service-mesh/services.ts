import type { Subject } from '../base/subject.ts'
import type { Wait } from '../base/wait.ts'
import { findLookup, isUnreadable, type Lookups } from '../kubernetes/lookups.ts'
import { nameOf, type Reference } from '../kubernetes/objects.ts'
import { isHeadless, isServiceOf, NAME_LABEL } from '../kubernetes/services.ts'
import type { Config } from '../state/config.ts'
import type { EffectiveState } from '../state/state.ts'
import { labelledService } from '../workload/label-targets.ts'

/** Each costs every step a read, here and at the beacon. */
const MOST_NAMED_SERVICES = 20

/** The Services that policies name, besides the labelled one. Without the waypoint's label, nothing enforces their policies. */
export const namedServices = (application: string, config: Config = {}): string[] => {
  const named = (config.policies ?? []).flatMap((policy) =>
    policy.type === 'app' ? [policy.service || application] : [],
  )
  const own = labelledService(application, config)
  return [...new Set(named)].filter((name) => name !== own).slice(0, MOST_NAMED_SERVICES)
}

export const HEADLESS = 'is headless, so that requests go past its waypoint straight to the pods: ask for type unit'

/** The Services that an application's own policies name, to read and label. */
export const servicesOfPolicies = ({ namespace, application }: Subject, { config }: EffectiveState): Reference[] => {
  const own = labelledService(application, config ?? {})
  const labelled = [...(own === null ? [] : [own]), ...namedServices(application, config)]
  const named = new Set(config?.policies?.flatMap((one) => (one.type === 'app' ? [one.service || application] : [])))
  return labelled.filter((name) => named.has(name)).map((name) => ({ kind: 'Service', namespace, name }))
}

/** Services without a waypoint, where nothing enforces what is granted, with the remedy. */
export const unenforceable = (subject: Subject, state: EffectiveState, lookups: Lookups): Wait[] =>
  servicesOfPolicies(subject, state).flatMap((reference) => {
    const name = nameOf(reference)
    if (!lookups.has(name) || isUnreadable(lookups, name)) return []
    const service = findLookup(lookups, name)
    const waitingFor = (why: string): Wait[] => [{ held: 'policies', for: [name], message: `${name} ${why}` }]
    if (service && isHeadless(service)) return waitingFor(HEADLESS)
    if (!isNamed(subject, state, reference)) return []
    if (service === undefined)
      return waitingFor(`does not exist: its waypoint's label is applied by the next event after it does`)
    if (isServiceOf(subject, service)) return []
    return waitingFor(
      `does not select the pods of ${subject.application} by ${NAME_LABEL}: it gets no label of the waypoint, and no policy`,
    )
  })

/** The Service that the config labels is reported by whoever labels it. */
const isNamed = ({ application }: Subject, { config }: EffectiveState, { name = '' }: Reference): boolean =>
  namedServices(application, config).includes(name)
