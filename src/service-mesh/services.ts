import { at } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import { NAME_LABEL } from '../istio/target.ts'
import { type Facts, factAt, isUnreadable } from '../kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../kubernetes/objects.ts'
import { type EffectiveState, namedServices, targetsOf } from '../state/state.ts'

type Spec = { readonly selector?: Readonly<Record<string, string>>; readonly clusterIP?: string }

/** Whether a Service is the application's: it has its name, or selects its pods. */
export const isServiceOf = ({ application }: Subject, { metadata, spec = {} }: KubernetesObject): boolean =>
  metadata.name === application || at((spec as Spec).selector, NAME_LABEL) === application

/** Whether a Service has no address of its own: its name is resolved to its pods. */
export const isHeadless = ({ spec = {} }: KubernetesObject): boolean => (spec as Spec).clusterIP === 'None'

export const HEADLESS = 'is headless, so that requests go past its waypoint straight to the pods: ask for type unit'

/** The Services that an application's own policies name: those that a step reads to label them. */
export const servicesOfPolicies = ({ namespace, application }: Subject, { config }: EffectiveState): Reference[] => {
  const labelled = targetsOf(application, config).flatMap(({ kind, name }) => (kind === 'Service' ? [name] : []))
  const named = new Set(config?.policies?.flatMap((one) => (one.type === 'app' ? [one.service || application] : [])))
  return labelled.filter((name) => named.has(name)).map((name) => ({ kind: 'Service', namespace, name }))
}

/** The Services among them at which nothing would enforce what is granted, and the way out. */
export const unenforceable = (subject: Subject, state: EffectiveState, facts: Facts): string[] =>
  servicesOfPolicies(subject, state).flatMap((reference) => {
    const name = nameOf(reference)
    if (!facts.has(name) || isUnreadable(facts, name)) return []
    const service = factAt(facts, name)
    if (service && isHeadless(service)) return [`${name} ${HEADLESS}`]
    if (!isNamed(subject, state, reference)) return []
    if (service === undefined)
      return [`${name} does not exist: its waypoint's label is applied by the next event after it does`]
    if (isServiceOf(subject, service)) return []
    return [
      `${name} does not select the pods of ${subject.application} by ${NAME_LABEL}: it gets no label of the waypoint, and no policy`,
    ]
  })

/** The one that the config labels anyway is missed by whoever labels it. */
const isNamed = ({ application }: Subject, { config }: EffectiveState, { name = '' }: Reference): boolean =>
  namedServices(application, config).includes(name)
