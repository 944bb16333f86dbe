import { Refused } from '../../platform/base/errors.ts'
import type { ApplicationView } from '../http/applications.ts'

export type Name = { readonly namespace: string; readonly application: string; readonly endpoint?: string }

export type Relating = {
  readonly own: Name
  readonly remote: Name
  readonly interface?: string | undefined
  /** The role of `own`. */
  readonly role?: string | undefined
  readonly id?: number | undefined
}

/** The type, subject and data of an event that establishes or ends a relation. */
export type Told = { readonly type: string; readonly subject: string; readonly data: unknown }

const INTERFACES: ReadonlyMap<string, string> = new Map([
  ['service-mesh', 'service_mesh'],
  ['provide-cmr-mesh', 'cross_model_mesh'],
  ['require-cmr-mesh', 'cross_model_mesh'],
])

/**
 * Builds a `relation-changed` event from two names, and from the known applications of the first one's namespace. Throws Refused if the endpoint is
 * missing.
 */
export const relate = (views: readonly ApplicationView[], { own, remote, ...asked }: Relating): Told => {
  const endpoint = own.endpoint ?? endpointFor(views, own, remote)
  const name = asked.interface ?? INTERFACES.get(endpoint) ?? 'http'
  const role = asked.role ?? (name === 'service_mesh' ? 'requires' : 'provides')
  const id = asked.id ?? idFor(views, own, endpoint, remote)
  const elsewhere = remote.namespace === own.namespace ? {} : { namespace: remote.namespace }
  const remoteEndpoint = remote.endpoint === undefined ? {} : { endpoint: remote.endpoint }
  return {
    type: 'relation-changed',
    subject: subjectOf(own),
    data: {
      relation: { id, endpoint, interface: name, role },
      remote: { application: remote.application, ...elsewhere, ...remoteEndpoint, data: {} },
    },
  }
}

/** Builds a `relation-broken` event from two names. Throws Refused if there is no such relation, or several. */
export const unrelate = ({ relations }: Pick<ApplicationView, 'relations'>, { own, remote, id }: Relating): Told => {
  const found = relations.filter(
    (one) =>
      one.stands &&
      one.remote === subjectOf(remote) &&
      (own.endpoint === undefined || one.endpoint === own.endpoint) &&
      (id === undefined || one.id === id),
  )
  const [relation, ...others] = found
  if (relation === undefined)
    throw new Refused(400, `${subjectOf(own)} has no such relation with ${remote.application}`)
  if (others.length > 0)
    throw new Refused(
      400,
      `several relations match, name one of them: ${found.map(({ id: number, endpoint }) => `--id ${number} (${endpoint})`).join(', ')}`,
    )
  return { type: 'relation-broken', subject: subjectOf(own), data: { relation: { id: relation.id } } }
}

const subjectOf = ({ namespace, application }: Name): string => `${namespace}/${application}`

const endpointFor = (views: readonly ApplicationView[], own: Name, remote: Name): string => {
  const isBeacon = views.some(
    ({ application, config }) => application === remote.application && config?.mesh !== undefined,
  )
  if (isBeacon) return 'service-mesh'
  throw new Refused(400, `${own.application}: the endpoint is missing: name it, as ${own.application}:ENDPOINT`)
}

/** Returns the id of the existing relation, or the next unused number in the namespace. */
const idFor = (views: readonly ApplicationView[], own: Name, endpoint: string, remote: Name): number => {
  const all = views.flatMap(({ application, relations = [] }) => relations.map((one) => ({ application, ...one })))
  const same = all.find(
    (one) =>
      one.stands &&
      one.application === own.application &&
      one.endpoint === endpoint &&
      one.remote === subjectOf(remote),
  )
  return same?.id ?? Math.max(0, ...all.map(({ id }) => id)) + 1
}

/** Builds a CloudEvent in JSON with the current time. The type may be short, such as `config-changed`. */
export const eventOf = ({ type, subject, data }: { type: string; subject: string; data?: unknown }, source = '/cli') =>
  JSON.stringify({
    specversion: '1.0',
    id: crypto.randomUUID(),
    source,
    type: type.includes('.') ? type : `dev.meshstep.${type}.v1`,
    subject,
    time: new Date().toISOString(),
    ...(data !== undefined && { datacontenttype: 'application/json', data }),
  })
