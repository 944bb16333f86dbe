import type { RelationIdentity } from '../../core/state/relation.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { AUTHOR } from '../../platform/cloudevents/knative/document.ts'
import type { Application, Model, RelationInfo, Sides } from './read.ts'

type Remote = {
  application: string
  namespace?: string
  endpoint: string
  data: Record<string, unknown>
  units?: Record<string, Record<string, unknown>>
}

export type RelationDocument = {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Record<string, string>
    readonly annotations?: Record<string, string>
  }
  readonly data: { readonly application: string; readonly relation: string; readonly remote: string }
}

export type Imported = {
  readonly documents: readonly RelationDocument[]
  /** Sentences about parts that are left out on purpose, or assumed. */
  readonly notes: readonly string[]
  /** Sentences about relations that cannot be derived, each with the missing input. */
  readonly unknown: readonly string[]
}

/** Interfaces whose databags meshstep reads. Databags of other interfaces may have credentials, and are not written. */
export const READ_INTERFACES: ReadonlySet<string> = new Set([
  'certificate_transfer',
  'cluster',
  'cross_model_mesh',
  'k8s-service',
  'loki_push_api',
  'prometheus_remote_write',
  'service_mesh',
  'tracing',
])

/** Keys for addresses of pods, which Juju writes into each unit's databag. */
const ADDRESS_KEYS: ReadonlySet<string> = new Set(['egress-subnets', 'ingress-address', 'private-address'])

/** Interfaces for which meshstep must know the provider. */
const ROLE_MATTERS: ReadonlySet<string> = new Set(['service_mesh', 'cross_model_mesh', 'cluster', 'k8s-service'])

/** One side of a relation, as one of its units reports it. `remote` is the local name of the peer. */
type Side = { readonly application: string; readonly info: RelationInfo; readonly remote: string | undefined }

type Result = { readonly document: RelationDocument } | { readonly note: string } | { readonly unknown: string }

/** Derives relation documents for each model from Juju's output about all models. */
export const importModels = (
  models: readonly Model[],
  { withPeers, author }: { withPeers: boolean; author?: string | undefined },
): Imported => {
  const results = models.flatMap((model) => importModel({ model, models, withPeers }))
  return {
    documents: results.flatMap((result) => ('document' in result ? [withAuthor(result.document, author)] : [])),
    notes: results.flatMap((result) => ('note' in result ? [result.note] : [])),
    unknown: results.flatMap((result) => ('unknown' in result ? [result.unknown] : [])),
  }
}

/** Adds the author to a document. */
const withAuthor = (document: RelationDocument, author: string | undefined): RelationDocument =>
  author === undefined
    ? document
    : { ...document, metadata: { ...document.metadata, annotations: { [AUTHOR]: author } } }

type Asked = { readonly model: Model; readonly models: readonly Model[]; readonly withPeers: boolean }

const importModel = (asked: Asked): Result[] => {
  const { name, status } = asked.model
  if (status.model.type === 'iaas')
    return [{ note: `model ${name}: its applications run on machines, and are left out` }]
  const sides = sidesById(asked.model)
  const left = Object.entries(status.applications).flatMap(([application, one]): Result[] => {
    if ('status-error' in one) return [{ unknown: `${name}/${application}: Juju says ${one['status-error']}` }]
    const reason = reasonToLeaveOut(one)
    return reason === undefined ? [] : [{ note: `${name}/${application}: ${reason}, and is left out` }]
  })
  const related = [...sides].flatMap(([id, both]) => importRelation(asked, id, both))
  return [...left, ...related, ...withoutId(asked.model, [...sides.values()].flat())]
}

const reasonToLeaveOut = (application: Application): string | undefined => {
  if (application['subordinate-to'].length > 0) return 'is a subordinate, which Kubernetes has none of'
  return application.life === 'dying' || application.life === 'dead' ? `is ${application.life}` : undefined
}

/** Groups the reported sides of relations by relation id. */
const sidesById = (model: Model): Map<number, Side[]> => {
  const sides = new Map<number, Side[]>()
  for (const [unit, relations] of model.units)
    for (const info of relations) {
      const id = info['relation-id']
      const application = applicationOf(unit)
      const before = id === undefined ? [] : (sides.get(id) ?? [])
      if (id === undefined || before.some((one) => one.application === application)) continue
      sides.set(id, [...before, { application, info, remote: remoteOf(model, application, info) }])
    }
  return new Map([...sides].toSorted(([one], [other]) => one - other))
}

/** Names the peer by its units, else by the status if that has only one. */
const remoteOf = (model: Model, application: string, info: RelationInfo): string | undefined => {
  const [unit] = Object.keys(info['related-units'])
  if (unit !== undefined) return applicationOf(unit)
  const related = applicationNamed(model, application)?.relations[info.endpoint] ?? []
  const names = new Set(related.map((one) => one.application))
  return names.size === 1 ? [...names][0] : undefined
}

const applicationOf = (unit: string): string => unit.split('/')[0] ?? unit

const applicationNamed = ({ status }: Model, name: string): Application | undefined => {
  const found = ownValue(status.applications, name)
  return found === undefined || 'status-error' in found ? undefined : found
}

const isLeftOut = (model: Model, name: string): boolean => {
  const application = applicationNamed(model, name)
  return application !== undefined && reasonToLeaveOut(application) !== undefined
}

/** Reports relations in the status without a reporting unit, once each. Their ids are unknown. */
const withoutId = (model: Model, sides: readonly Side[]): Result[] => {
  const known = new Set(
    sides.flatMap(({ application, info, remote }) => [
      `${application}:${info.endpoint} ${remote}`,
      `${remote}:${info['related-endpoint']} ${application}`,
    ]),
  )
  const named = Object.keys(model.status.applications).filter((application) => !isLeftOut(model, application))
  return named.flatMap((application) => {
    const { relations = {}, units = {} } = applicationNamed(model, application) ?? {}
    const [unit = `${application}/0`] = Object.keys(units)
    return Object.entries(relations).flatMap(([endpoint, related]) =>
      related
        .filter(({ application: other }) => !known.has(`${application}:${endpoint} ${other}`))
        .filter(({ application: other }) => other !== application && !isLeftOut(model, other))
        .filter(({ application: other }) => !named.includes(other) || application < other)
        .map(({ application: other }) => ({
          unknown: `${model.name}: the id of the relation of ${application}:${endpoint} and ${other} is missing: add juju show-unit --format json ${unit}`,
        })),
    )
  })
}

const importRelation = (asked: Asked, id: number, known: readonly Side[]): Result[] => {
  const { model, withPeers } = asked
  // each side names the other if the other could not
  const sides = known.map((side, at) => ({ ...side, remote: known[1 - at]?.application ?? side.remote }))
  const [side, ...others] = sides
  if (side === undefined || sides.some((one) => isLeftOut(model, one.application))) return []
  const { application, info, remote } = side
  const name = `${model.name}: relation ${id} of ${application}:${info.endpoint}`
  if (remote === undefined)
    return [{ unknown: `${name}: its peer has no unit, and may be one of several applications` }]
  if (isLeftOut(model, remote)) return []
  if (remote !== application) {
    const isHere = applicationNamed(model, remote) !== undefined && !info['cross-model']
    return isHere
      ? importLocal(asked, id, [side, ...others], `${name} and ${remote}`)
      : importCrossModel(asked, id, side, `${name} and ${remote}`)
  }
  return withPeers
    ? [documentOf(asked, id, side, 'peers', interfaceOf(model, side) ?? info.endpoint)]
    : [{ note: `${name}: it is a peer relation, and is left out without --peers` }]
}

const importLocal = (asked: Asked, id: number, sides: readonly [Side, ...Side[]], name: string): Result[] => {
  const { model } = asked
  const [first] = sides
  const kind = interfaceOf(model, first)
  if (kind === undefined) return [{ unknown: `${name}: its interface is missing: ${ADD_TABLE}` }]
  const roles = sides.map((side) => ({ side, role: roleOf(model, side) }))
  // the document belongs to the consumer of a mesh, else to the provider: these sides request policies
  const wanted = kind === 'service_mesh' ? 'requires' : 'provides'
  const { side, role } = roles.find((one) => one.role === wanted) ?? { side: first, role: roles[0]?.role }
  if (role !== undefined) return [documentOf(asked, id, side, role, kind)]
  if (ROLE_MATTERS.has(kind)) return [{ unknown: `${name} (${kind}): its provider is missing: ${ADD_TABLE}` }]
  const note = `${name} (${kind}): it is presumed that ${side.application} provides, which makes no difference to meshstep`
  return [documentOf(asked, id, side, 'provides', kind), { note }]
}

const ADD_TABLE = 'add what juju status --relations prints'

const roleOf = (model: Model, side: Side): 'provides' | 'requires' | undefined => {
  const row = rowOf(model, side)
  if (row === undefined) return undefined
  return row.provider === `${side.application}:${side.info.endpoint}` ? 'provides' : 'requires'
}

/** Finds the row of the relation in Juju's table. */
const rowOf = ({ sides }: Model, { application, info, remote }: Side): Sides | undefined => {
  const both = [`${application}:${info.endpoint}`, `${remote}:${info['related-endpoint']}`]
  return sides.find(({ provider, requirer }) => both.includes(provider) && both.includes(requirer))
}

const interfaceOf = (model: Model, side: Side): string | undefined =>
  applicationNamed(model, side.application)?.relations[side.info.endpoint]?.find(
    (one) => one.application === side.remote,
  )?.interface ?? rowOf(model, side)?.interface

/** The application of another model behind an offer. */
type Offered = { readonly model: string; readonly application: string; readonly endpoint: string }

const importCrossModel = (asked: Asked, id: number, side: Side, name: string): Result[] => {
  const { model, models } = asked
  const saas = saasNamed(model, side.remote ?? '')
  if (saas === undefined) return importOffered(asked, id, side, name)
  const [endpoint, offered] = [
    ownValue(saas.endpoints, side.info['related-endpoint']),
    offeredAt(models, saas.url, side),
  ]
  if (endpoint === undefined || offered === undefined) {
    const missing = `the application behind ${saas.url} is missing: add juju status --format json of its model`
    return [{ unknown: `${name}: ${missing}` }]
  }
  const remote = { namespace: offered.model, application: offered.application }
  const role = endpoint.role === 'provider' ? 'requires' : 'provides'
  return [documentOf(asked, id, side, role, endpoint.interface, remote)]
}

/**
 * Imports a relation at the offering side. That side sees neither the name nor the model of its consumer. They are known only if the offer has one
 * consumer.
 */
const importOffered = (asked: Asked, id: number, side: Side, name: string): Result[] => {
  const { model, models } = asked
  const { application, info } = side
  const offer = offersIn(model).find((one) => one.application === application && ownValue(one.endpoints, info.endpoint))
  const endpoint = offer?.endpoints[info.endpoint]
  const related = applicationNamed(model, application)?.relations[info.endpoint] ?? []
  const others = related.filter((one) => applicationNamed(model, one.application) === undefined)
  const consumers = models.flatMap((other) =>
    consumersIn(other, models).filter(
      ({ of }) => of.model === model.name && of.application === application && of.endpoint === info.endpoint,
    ),
  )
  const [consumer] = consumers
  if (endpoint === undefined || consumer === undefined || consumers.length !== 1 || others.length !== 1)
    return [
      { unknown: `${name}: the consumer of the offer is missing, or there are several: add the status of its model` },
    ]
  const role = endpoint.role === 'provider' ? 'provides' : 'requires'
  const remote = { namespace: consumer.model, application: consumer.application }
  return [documentOf(asked, id, side, role, endpoint.interface, remote)]
}

const saasNamed = ({ status }: Model, name: string) => {
  const found = ownValue(status['application-endpoints'], name)
  return found === undefined || 'status-error' in found ? undefined : found
}

const offersIn = ({ status }: Model) =>
  Object.entries(status.offers).flatMap(([name, offer]) => ('status-error' in offer ? [] : [{ name, ...offer }]))

/** `[controller:][owner/]model.offer` */
const URL = /^(?:[^:]+:)?(?:[^/]+\/)?(?<model>[^./]+)\.(?<offer>.+)$/

const offeredAt = (models: readonly Model[], url: string, { info }: Pick<Side, 'info'>): Offered | undefined => {
  const { model: name, offer: offerName } = URL.exec(url)?.groups ?? {}
  const model = models.find((one) => one.name === name)
  const offer = model && offersIn(model).find((one) => one.name === offerName)
  return model && offer && { model: model.name, application: offer.application, endpoint: info['related-endpoint'] }
}

/** Lists the applications of a model that consume offers of other models. */
const consumersIn = (model: Model, models: readonly Model[]) =>
  [...sidesById(model).values()].flat().flatMap((side) => {
    const saas = saasNamed(model, side.remote ?? '')
    const of = saas && offeredAt(models, saas.url, side)
    return of === undefined ? [] : [{ model: model.name, application: side.application, of }]
  })

/** Builds the document for one side of a relation, with the databags of its peer if meshstep reads them. */
const documentOf = (
  { model }: Asked,
  id: number,
  { application, info, remote: local = application }: Side,
  role: RelationIdentity['role'],
  kind: string,
  remote: Pick<Remote, 'application' | 'namespace'> = { application: local },
): Result => {
  const isRead = READ_INTERFACES.has(kind) && role !== 'peers'
  const units = Object.entries(info['related-units'])
    .map(([unit, { data }]) => [unit, withoutAddresses(data)] as const)
    .filter(([, data]) => Object.keys(data).length > 0)
  const told: Remote = {
    ...remote,
    endpoint: info['related-endpoint'],
    data: isRead ? info['application-data'] : {},
    ...(isRead && units.length > 0 && { units: Object.fromEntries(units) }),
  }
  const relation: RelationIdentity = { id, endpoint: info.endpoint, interface: kind, role }
  return {
    document: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: `juju-relation-${id}`,
        namespace: model.name,
        labels: { 'meshstep.dev/kind': 'relation' },
      },
      data: { application, relation: JSON.stringify(relation), remote: JSON.stringify(told) },
    },
  }
}

const withoutAddresses = (data: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([key]) => !ADDRESS_KEYS.has(key)))
