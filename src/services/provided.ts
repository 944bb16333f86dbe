import * as z from 'zod'
import { Port } from '../mesh/endpoint.ts'
import { at } from '../record.ts'
import { publishable } from '../relations/payload.ts'
import { type Versions, versionsOf } from '../relations/versions.ts'
import type { Relation } from '../state.ts'
import { serviceHost } from './host.ts'

/** One label, so that neither an address nor the name of a pod can be given. */
const ServiceName = z
  .string()
  .max(63)
  .regex(
    /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    'expected the name of a Service: at most 63 lower-case letters, digits and hyphens, a letter first',
  )

/** Config: the Service of the own namespace that is offered at each endpoint of the interface `k8s-service`. */
export const Services = z.record(z.string().min(1).max(253), z.strictObject({ name: ServiceName, port: Port }))
export type Services = z.infer<typeof Services>

export type Provider = {
  readonly namespace: string
  readonly relations: readonly Relation[]
  readonly services?: Services | undefined
  readonly versions?: Versions | undefined
}

/** The application databag for one relation. */
export type Published = { readonly relation: number; readonly data: Readonly<Record<string, string>> }

/**
 * What an application publishes to its relations of `k8s-service`, by id, whichever unit leads. A requirer, and a provider that offers
 * nothing at the endpoint, publish the versions they speak: the other side may wait for them.
 */
export const serviceDatabags = ({ namespace, relations, services, versions }: Provider): Published[] =>
  relations
    .filter((relation) => relation.interface === 'k8s-service')
    .toSorted((one, other) => one.id - other.id)
    .map(({ id, endpoint, role }) => {
      const service = role === 'provides' ? at(services, endpoint) : undefined
      const content: Record<string, string> = service
        ? { 'service-name': serviceHost(service.name, namespace), 'service-port': String(service.port) }
        : {}
      return { relation: id, data: publishable(content, versionsOf('k8s-service', versions)) }
    })
