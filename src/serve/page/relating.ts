import { listedPolicies } from '../../core/policies/models.ts'
import { Refused } from '../../platform/base/errors.ts'
import { subjectName } from '../../platform/base/subject.ts'
import type { ApplicationView } from '../http/applications.ts'

export type Name = { readonly namespace: string; readonly application: string; readonly endpoint?: string }

export type Relating = {
  readonly own: Name
  readonly remote: Name
  readonly interface?: string | undefined
  /** The role of `own`, which then is the side that is told. */
  readonly role?: string | undefined
  readonly id?: number | undefined
}

/** The type, subject and data of an event that establishes or ends a relation. */
export type Told = { readonly type: string; readonly subject: string; readonly data: unknown }

type Role = 'provides' | 'requires'

/** The endpoints of the mesh, with their interface and role. */
const OF_THE_MESH: ReadonlyMap<string, { readonly interface: string; readonly role: Role }> = new Map([
  ['service-mesh', { interface: 'service_mesh', role: 'requires' }],
  ['provide-cmr-mesh', { interface: 'cross_model_mesh', role: 'provides' }],
  ['require-cmr-mesh', { interface: 'cross_model_mesh', role: 'requires' }],
])

/**
 * Builds a `relation-changed` event from two names in either order, and from the known applications of their namespaces. The roles follow from
 * `role`, a beacon, endpoints, relations and configs. Throws Refused if the endpoint or the roles cannot be told.
 */
export const relate = (views: readonly ApplicationView[], { own: first, remote: second, ...asked }: Relating): Told => {
  const { own, remote, endpoint, role } = sidesOf(views, first, second, asked.role)
  const ofTheMesh = OF_THE_MESH.get(endpoint) ?? OF_THE_MESH.get(remote.endpoint ?? '')
  const id = asked.id ?? idFor(views, own, endpoint, remote)
  const elsewhere = remote.namespace === own.namespace ? {} : { namespace: remote.namespace }
  const remoteEndpoint = remote.endpoint === undefined ? {} : { endpoint: remote.endpoint }
  return {
    type: 'relation-changed',
    subject: subjectName(own),
    data: {
      relation: { id, endpoint, interface: asked.interface ?? ofTheMesh?.interface ?? 'http', role },
      remote: { application: remote.application, ...elsewhere, ...remoteEndpoint, data: {} },
    },
  }
}

/** The application that is told of the relation, with its endpoint and role, and the other one. */
type Sides = { readonly own: Name; readonly remote: Name; readonly endpoint: string; readonly role: string }

const sidesOf = (views: readonly ApplicationView[], first: Name, second: Name, role: string | undefined): Sides => {
  const isSaid = role !== undefined && [first, second].some((one) => one.endpoint !== undefined)
  const consumer = isSaid ? undefined : consumerOf(views, first, second)
  const own = consumer ?? (first.endpoint === undefined ? second : first)
  const remote = own === first ? second : first
  const endpoint = consumer ? 'service-mesh' : own.endpoint
  if (endpoint === undefined) throw new Refused(400, endpointMissing(views, first, second))
  const asked = own === first ? role : opposite(role)
  const told = asked ?? (consumer ? 'requires' : roleOf(views, own, remote))
  if (told === undefined) throw new Refused(400, roleUnknown(first, second))
  return { own, remote, endpoint, role: told }
}

/** Returns the role of the other side. Peers have the same one. */
const opposite = <T extends string | undefined>(role: T): T | Role => {
  if (role === 'provides') return 'requires'
  return role === 'requires' ? 'provides' : role
}

/** Returns the one of the two that joins the mesh of the other, a beacon. */
const consumerOf = (views: readonly ApplicationView[], first: Name, second: Name): Name | undefined => {
  const isBeacon = (name: Name) => configOf(views, name)?.mesh !== undefined
  const isConsumer = (name: Name, other: Name) =>
    !isBeacon(name) &&
    isBeacon(other) &&
    (name.endpoint === 'service-mesh' ||
      (name.endpoint === undefined && [undefined, 'service-mesh'].includes(other.endpoint)))
  if (isConsumer(first, second)) return first
  return isConsumer(second, first) ? second : undefined
}

/**
 * Returns the role of an application with an endpoint, as far as something tells it. An application that alone names an endpoint provides it,
 * unless the config of the other one names endpoints that may be meant. Undefined if both sides would have one role.
 */
const roleOf = (views: readonly ApplicationView[], own: Name, remote: Name): Role | undefined => {
  const [role, other] = [toldRole(views, own), toldRole(views, remote)]
  if (role !== undefined) return role === other ? undefined : role
  if (other !== undefined) return opposite(other)
  return remote.endpoint === undefined && offeredBy(views, remote).length === 0 ? 'provides' : undefined
}

/** Returns the role of a named endpoint: of the mesh, of a relation that stands, or of a config that offers it. */
const toldRole = (views: readonly ApplicationView[], name: Name): Role | undefined => {
  const { endpoint } = name
  if (endpoint === undefined) return undefined
  const known = viewOf(views, name)?.relations?.find((one) => one.stands && one.endpoint === endpoint)?.role
  if (known === 'provides' || known === 'requires') return known
  return OF_THE_MESH.get(endpoint)?.role ?? (offeredBy(views, name).includes(endpoint) ? 'provides' : undefined)
}

/** Lists the endpoints that the config of an application offers: by a policy, or as a Service. */
const offeredBy = (views: readonly ApplicationView[], name: Name): string[] => {
  const { policies, services = {} } = configOf(views, name) ?? {}
  return [...new Set([...listedPolicies(policies).map(({ relation }) => relation), ...Object.keys(services)])]
}

const viewOf = (views: readonly ApplicationView[], name: Name): ApplicationView | undefined =>
  views.find((view) => subjectName(view) === subjectName(name))

const configOf = (views: readonly ApplicationView[], name: Name): ApplicationView['config'] | undefined =>
  viewOf(views, name)?.config

const endpointMissing = (views: readonly ApplicationView[], first: Name, second: Name): string => {
  const ways = [first, second].map((provider) => {
    const [endpoint, ...others] = offeredBy(views, provider)
    const named = endpoint !== undefined && others.length === 0 ? endpoint : 'ENDPOINT'
    return `${provider.application}:${named} ${(provider === first ? second : first).application}`
  })
  return `the endpoint is missing: say which application provides it, as in ${ways.join(' or ')}`
}

const roleUnknown = (first: Name, second: Name): string =>
  `nothing tells which of the two provides: say --role provides if ${first.application} does, and --role requires if ${second.application} does`

/** Builds a `relation-broken` event from two names. Throws Refused if there is no such relation, or several. */
export const unrelate = ({ relations }: Pick<ApplicationView, 'relations'>, { own, remote, id }: Relating): Told => {
  const found = relations.filter(
    (one) =>
      one.stands &&
      one.remote === subjectName(remote) &&
      (own.endpoint === undefined || one.endpoint === own.endpoint) &&
      (one.remoteEndpoint ?? remote.endpoint) === (remote.endpoint ?? one.remoteEndpoint) &&
      (id === undefined || one.id === id),
  )
  const [relation, ...others] = found
  if (relation === undefined)
    throw new Refused(400, `${subjectName(own)} has no such relation with ${remote.application}`)
  if (others.length > 0)
    throw new Refused(
      400,
      `several relations match, name one of them: ${found.map(({ id: number, endpoint }) => `--id ${number} (${endpoint})`).join(', ')}`,
    )
  return { type: 'relation-broken', subject: subjectName(own), data: { relation: { id: relation.id } } }
}

/** Returns the id of the existing relation, or the next unused number in the namespace. */
const idFor = (views: readonly ApplicationView[], own: Name, endpoint: string, remote: Name): number => {
  const near = views.filter(({ namespace }) => namespace === own.namespace)
  const all = near.flatMap(({ application, relations = [] }) => relations.map((one) => ({ application, ...one })))
  const same = all.find(
    (one) =>
      one.stands &&
      one.application === own.application &&
      one.endpoint === endpoint &&
      one.remote === subjectName(remote),
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
