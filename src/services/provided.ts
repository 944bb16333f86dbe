import * as z from 'zod'
import { ownValue } from '../base/own-value.ts'
import { Port } from '../policies/endpoint.ts'
import type { Relation } from '../state/relation.ts'
import { serviceHost } from './host.ts'

/** A Service name is one label, which excludes addresses and names of pods. */
const ServiceName = z
  .string()
  .max(63)
  .regex(
    /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    'expected the name of a Service: at most 63 lower-case letters, digits and hyphens, a letter first',
  )

/** Config: the Service of the own namespace to offer at each endpoint of the interface `k8s-service`. */
export const Services = z.record(z.string().min(1).max(253), z.strictObject({ name: ServiceName, port: Port }))
export type Services = z.infer<typeof Services>

/**
 * The databag of a `k8s-service` relation, in the flat keys of the interface; undefined in other relations. A requirer, and a provider
 * without a Service at the endpoint, publish only their versions.
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
