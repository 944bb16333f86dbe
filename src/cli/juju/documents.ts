import type { CrossModelIdentity } from '../../core/relations/databags/cross-model.ts'
import { SCRAPE, SCRAPE_JOBS } from '../../core/relations/databags/scrape-jobs.ts'
import type { RelationIdentity } from '../../core/state/relation.ts'
import { readText } from '../../platform/base/structured-text.ts'
import { AUTHOR, DOCUMENT_LABEL, LONGEST_YAML } from '../../platform/cloudevents/knative/document.ts'
import { type Known, type Remotes, readCrossModel } from './cross-model.ts'
import { type Crossed, identityRelations } from './identities.ts'
import {
  applicationNamed,
  dataOfPeer,
  interfaceOf,
  isLeftOut,
  isSuspended,
  namespaceOf,
  reasonToLeaveOut,
  roleOf,
  runsOnMachines,
  type Side,
  sidesById,
} from './model.ts'
import type { Model } from './parse-output.ts'

type Remote = {
  application: string
  namespace?: string
  endpoint: string
  data: Readonly<Record<string, unknown>>
  units?: Record<string, Record<string, unknown>>
}

/** A relation, or the config of an application. */
export type JujuDocument = {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Record<string, string>
    readonly annotations?: Record<string, string>
  }
  readonly data: Record<string, string>
}

/**
 * A part of a model of which not everything is known: a relation by its id, or by its sides as far as they are known; all relations of an application; or
 * its config.
 */
export type Unclear =
  | { readonly id: number }
  | { readonly config: string }
  | { readonly application: string; readonly endpoint?: string; readonly peer?: string | undefined }

export type Derived = {
  readonly documents: readonly JujuDocument[]
  /** Sentences about parts that are left out on purpose, or are not there yet. */
  readonly notes: readonly string[]
  /** Sentences about relations that cannot be derived, each with the missing input. */
  readonly unknown: readonly string[]
  /** Parts of which nothing may be concluded: what was told of them stands. */
  readonly unclear: readonly Unclear[]
}

export type DeriveOptions = {
  readonly withPeers: boolean
  /** The user who will apply the documents. */
  readonly author?: string | undefined
  readonly remotes?: Remotes | undefined
  /** The configs that were read out of options, by application: empty where the option has no value. */
  readonly configs?: ReadonlyMap<string, string> | undefined
  /** Every unit was asked: what no unit reports is not there yet. */
  readonly isAll?: boolean
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

/** Interfaces of whose databags meshstep reads some keys alone. */
const READ_KEYS: ReadonlyMap<string, readonly string[]> = new Map([[SCRAPE, [SCRAPE_JOBS]]])

/** Interfaces whose documents belong to the requirer: a consumer requests policies, and who scrapes is told by the provider what. */
const OF_REQUIRERS: ReadonlySet<string> = new Set(['service_mesh', SCRAPE])

/** Keys for addresses of pods, which Juju writes into each unit's databag. */
const ADDRESS_KEYS: ReadonlySet<string> = new Set(['egress-subnets', 'ingress-address', 'private-address'])

type Result = {
  readonly document?: JujuDocument
  readonly note?: string
  readonly unknown?: string
  readonly unclear?: Unclear
  readonly crossed?: Crossed
}

type Context = Known & DeriveOptions

/** Derives relation documents for a model. The other models are there for their names alone. */
export const deriveDocuments = (model: Model, models: readonly Model[], options: DeriveOptions): Derived => {
  const results = ofModel({ ...options, model, models, remotes: options.remotes ?? new Map() })
  const identities = identityRelations(results.flatMap(({ crossed }) => crossed ?? []))
  const documents = [
    ...results.flatMap(({ document }) => document ?? []),
    ...identities.map(({ id, ...told }) => relationDocument(model, `juju-identity-${id}`, told)),
  ]
  return {
    documents: documents.map((document) => withAuthor(document, options.author)),
    notes: results.flatMap(({ note }) => note ?? []),
    unknown: results.flatMap(({ unknown }) => unknown ?? []),
    unclear: results.flatMap(({ unclear }) => unclear ?? []),
  }
}

/** Adds the author to a document. */
const withAuthor = (document: JujuDocument, author: string | undefined): JujuDocument =>
  author === undefined
    ? document
    : { ...document, metadata: { ...document.metadata, annotations: { [AUTHOR]: author } } }

const ofModel = (context: Context): Result[] => {
  const { model } = context
  if (runsOnMachines(model))
    return [{ note: `model ${model.name}: its applications run on machines, and are left out` }]
  const sides = sidesById(model)
  const left = Object.entries(model.status.applications).flatMap(([application, one]): Result[] => {
    const name = `${model.name}/${application}`
    if ('status-error' in one)
      return [{ unknown: `${name}: Juju says ${one['status-error']}`, unclear: { application } }]
    const reason = reasonToLeaveOut(one)
    return reason === undefined ? [] : [{ note: `${name}: ${reason}, and is left out` }]
  })
  const related = [...sides].flatMap(([id, both]) => ofRelation(context, id, both))
  const told = [...(context.configs ?? [])].filter(([, config]) => config !== '')
  const configs = told.map(([application, config]): Result => {
    const read = readText(config, LONGEST_YAML)
    if ('unreadable' in read) {
      const what = `${model.name}/${application}: the option with its config is ${read.unreadable}`
      return { unknown: `${what}: correct it; its last config stays`, unclear: { config: application } }
    }
    return { document: documentNamed(model, `juju-config-${application}`, 'config', { application, config }) }
  })
  return [...left, ...related, ...withoutId(context, [...sides.values()].flat()), ...configs]
}

/** Reports relations in the status without a reporting unit, once each. Their ids are unknown. */
const withoutId = (context: Context, sides: readonly Side[]): Result[] => {
  const { model } = context
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
          ...missing(
            context,
            `${model.name}: the id of the relation of ${application}:${endpoint} and ${other} is missing`,
            `add juju show-unit --format json ${unit}`,
          ),
          unclear: { application, endpoint, peer: Object.hasOwn(model.status.applications, other) ? other : undefined },
        })),
    )
  })
}

/** Reports a missing part. If all was asked for, the next unit brings it. */
const missing = ({ isAll }: Context, what: string, remedy: string): Result =>
  isAll ? { note: `${what}: no unit has joined it yet` } : { unknown: `${what}: ${remedy}` }

const ofRelation = (context: Context, id: number, sides: readonly Side[]): Result[] => {
  const { model } = context
  const [side, ...others] = sides
  if (side === undefined || sides.some(({ application }) => isLeftOut(model, application))) return []
  const { application, info, remote } = side
  const name = `${model.name}: relation ${id} of ${application}:${info.endpoint}`
  if (info['cross-model'])
    return [acrossModels(context, id, side, remote === undefined ? name : `${name} and ${remote}`)]
  if (remote === undefined)
    return [
      { ...missing(context, `${name}: its peer is missing`, 'it may be one of several applications'), unclear: { id } },
    ]
  if (isLeftOut(model, remote)) return []
  if (remote === application) return [ofPeers(context, id, side, name)]
  const isHere = applicationNamed(model, remote) !== undefined
  // it is of this model, and what is not clear about it is said of the application
  if (!isHere && Object.hasOwn(model.status.applications, remote)) return [{ unclear: { id } }]
  const both = `${name} and ${remote}`
  return [isHere ? ofModelItself(context, id, [side, ...others], both) : acrossModels(context, id, side, both)]
}

const SUSPENDED = 'it is suspended, and is left out'

/** Reports a peer relation. It is not named where all of a model is asked for, again and again. */
const ofPeers = (context: Context, id: number, side: Side, name: string): Result => {
  if (context.withPeers)
    return documentOf(context, id, side, 'peers', interfaceOf(context.model, side) ?? side.info.endpoint)
  return context.isAll ? {} : { note: `${name}: it is a peer relation, and is left out without --peers` }
}

const ofModelItself = (context: Context, id: number, sides: readonly [Side, ...Side[]], name: string): Result => {
  const { model, isAll } = context
  const [first] = sides
  if (isSuspended(model, first)) return { note: `${name}: ${SUSPENDED}` }
  const [kind, role] = [interfaceOf(model, first), roleOf(model, first)]
  if (kind === undefined || role === undefined) {
    const what = `${name}: ${kind === undefined ? 'its interface and its provider are' : 'its provider is'} missing`
    return isAll
      ? { note: `${what}: juju status --relations does not list it yet`, unclear: { id } }
      : { unknown: `${what}: add what juju status --relations prints`, unclear: { id } }
  }
  const owner = OF_REQUIRERS.has(kind) ? 'requires' : 'provides'
  const side = role === owner ? first : sides[1]
  if (side !== undefined) return documentOf(context, id, side, owner, kind)
  // what the peer publishes is known for sure to units of this side alone
  if (READ_INTERFACES.has(kind) || READ_KEYS.has(kind)) {
    const remedy = `add juju show-unit --format json ${first.remote}/0`
    return { ...missing(context, `${name}: the data of ${first.application} are missing`, remedy), unclear: { id } }
  }
  return documentOf(context, id, mirrored(first), owner, kind)
}

/** The other side of a relation, of which no unit reports. A document is always of the same side. */
const mirrored = ({ application, info, remote = '' }: Side): Side => ({
  application: remote,
  remote: application,
  info: {
    ...info,
    endpoint: info['related-endpoint'],
    'related-endpoint': info.endpoint,
    'application-data': {},
    'local-unit': { data: {} },
    'related-units': {},
  },
})

const acrossModels = (context: Context, id: number, side: Side, name: string): Result => {
  if (isSuspended(context.model, side)) return { note: `${name}: ${SUSPENDED}` }
  const found = readCrossModel(context, id, side)
  if ('missing' in found) return { unknown: `${name}: ${found.missing}`, unclear: { id } }
  if ('leftOut' in found) return { note: `${name}: ${found.leftOut}, and it is left out` }
  return documentOf(context, id, side, found.role, found.interface, found.identity)
}

/** Builds the document for one side of a relation, with the databags of its peer if meshstep reads them. */
const documentOf = (
  { model }: Context,
  id: number,
  side: Side,
  role: RelationIdentity['role'],
  kind: string,
  identity?: CrossModelIdentity,
): Result => {
  const { application, info, remote: local = application } = side
  const isRead = READ_INTERFACES.has(kind) && role !== 'peers'
  const published = dataOfPeer(model, id, side)
  const units = Object.entries(published.units)
    .map(([unit, { data }]) => [unit, withoutAddresses(data)] as const)
    .filter(([, data]) => Object.keys(data).length > 0)
  const told: Remote = {
    ...(identity ?? { application: local }),
    endpoint: info['related-endpoint'],
    data: isRead ? published.application : readKeysOf(kind, published.application),
    ...(isRead && units.length > 0 && { units: Object.fromEntries(units) }),
  }
  const relation: RelationIdentity = { id, endpoint: info.endpoint, interface: kind, role }
  return {
    document: relationDocument(model, `juju-relation-${id}`, { application, relation, remote: told }),
    ...(identity && { crossed: { id, application, role, interface: kind, identity, data: told.data } }),
  }
}

const relationDocument = (
  model: Model,
  name: string,
  { application, relation, remote }: { application: string; relation: RelationIdentity; remote: Remote },
): JujuDocument =>
  documentNamed(model, name, 'relation', {
    ...{ application, relation: JSON.stringify(relation), remote: JSON.stringify(remote) },
  })

const documentNamed = (
  model: Model,
  name: string,
  kind: 'relation' | 'config',
  data: Record<string, string>,
): JujuDocument => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: namespaceOf(model), labels: { [DOCUMENT_LABEL]: kind } },
  data,
})

const readKeysOf = (kind: string, data: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([key]) => READ_KEYS.get(kind)?.includes(key)))

const withoutAddresses = (data: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([key]) => !ADDRESS_KEYS.has(key)))
