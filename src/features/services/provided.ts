import * as z from 'zod'
import { Port } from '../../core/policies/endpoint.ts'
import { type Relation, relationName, relationsIn } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { isUnreadable, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { serviceHost } from './host.ts'

/** The name of a Service is one label, which excludes addresses and names of pods. */
const ServiceName = z
  .string()
  .max(63)
  .regex(
    /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    'expected the name of a Service: at most 63 lower-case letters, digits and hyphens, a letter first',
  )

/** The config key with the Services to offer, for each endpoint of the interface `k8s-service`. They are in the application's namespace. */
export const Services = z.record(z.string().min(1).max(253), z.strictObject({ name: ServiceName, port: Port }))
export type Services = z.infer<typeof Services>

/**
 * Builds the databag of a `k8s-service` relation, in the interface's flat keys. Returns undefined for other relations. A requirer, and a provider without
 * a Service at the endpoint, publish only their versions.
 */
export const serviceContent = (
  { interface: name, role, endpoint }: Pick<Relation, 'interface' | 'role' | 'endpoint'>,
  namespace: string,
  services: Services | undefined,
): Record<string, string> | undefined => {
  if (name !== 'k8s-service') return undefined
  const service = role === 'provides' ? ownValue(services, endpoint) : undefined
  if (service === undefined) return {}
  return { 'service-name': serviceHost(service.name, namespace), 'service-port': String(service.port) }
}

type Provided = { readonly relation: Relation & { readonly key: string }; readonly reference: Reference }

/** Lists the offered Services that others make. The Service of the application's own workload is made with it. */
const foreignServices = ({ namespace, application }: Subject, { relations, config }: EffectiveState): Provided[] =>
  relationsIn({ relations }).flatMap((relation) => {
    const isProvider = relation.interface === 'k8s-service' && relation.role === 'provides'
    const { name } = (isProvider && ownValue(config?.services, relation.endpoint)) || {}
    const isOwn = name === application && Object.hasOwn(config?.workload ?? {}, 'podSpec')
    return name === undefined || isOwn ? [] : [{ relation, reference: { kind: 'Service', namespace, name } as const }]
  })

/** Lists the Services to read, because a missing one is not offered. */
export const serviceLookups = (subject: Subject, state: EffectiveState): Reference[] =>
  foreignServices(subject, state).map(({ reference }) => reference)

/** Lists the waits for missing Services, by the keys of the relations that would get them. */
export const missingServices = (
  subject: Subject,
  state: EffectiveState,
  lookups: Lookups,
): ReadonlyMap<string, Condition> =>
  new Map(
    foreignServices(subject, state).flatMap(({ relation, reference }) => {
      const name = nameOf(reference)
      if (lookups.get(name) !== undefined || isUnreadable(lookups, name)) return []
      const object = relationName(relation)
      const message = `${object}: ${name} does not exist, and is not offered: the next event after it does offers it`
      return [[relation.key, waitFor([name], 'NotFound', object, message)] as const]
    }),
  )
