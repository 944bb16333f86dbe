import * as z from 'zod'
import type { OwnSide } from '../../core/feature/feature.ts'
import type { DatabagValue } from '../../core/relations/databags/databag.ts'
import { type Relation, relationName, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { pythonJson } from '../../platform/base/python-json.ts'
import { sortedGroups } from '../../platform/base/sorted-groups.ts'
import { bounded, routeBytes } from './bounds.ts'
import type { CoordinatorConfig } from './config.ts'

import { andThen, check, readKey, selectProblems, selectValues } from './read.ts'
import { remoteUnits, unitTitle } from './relations.ts'
import { endpointNames } from './settings.ts'

/** The backends of a cluster's telemetry, as published in the coordinator's relations. */
export type Sources = {
  readonly logging: readonly { readonly unit: string; readonly url: string }[]
  readonly remoteWrite: readonly { readonly url: string }[]
  /** The receivers by protocol. Of two, that with the lower relation id wins, then the earlier one. A gRPC receiver is `host:port`. */
  readonly charmTracing: Readonly<Record<string, string>>
  readonly workloadTracing: Readonly<Record<string, string>>
  readonly problems: readonly string[]
}

const A_URL = 'expected an http or https URL of at most 2048 characters'

/** Tells if a text is a URL with only the characters of RFC 3986, because it may be written into a config file. */
const isUrl = (text: string): boolean =>
  /^https?:\/\/[-\w.~:/?#[\]@!$&'()*+,;=%]{1,2040}$/.test(text) && URL.canParse(text)

const Url = z.string(A_URL).refine(isUrl, A_URL)
const UrlObject = z.object({ url: Url }, 'expected an object with a URL')

const A_PROTOCOL = 'expected a protocol: at most 63 lower-case letters, digits and underscores'

const Receiver = z
  .object(
    {
      protocol: z.object(
        {
          name: z.string(A_PROTOCOL).regex(/^[a-z][a-z0-9_]{0,62}$/, A_PROTOCOL),
          type: z.enum(['http', 'grpc'], 'expected http or grpc'),
        },
        'expected a protocol: an object',
      ),
      url: z.string('expected a URL'),
    },
    'expected a receiver: an object',
  )
  .refine(({ protocol, url }) => isUrl(url) || (protocol.type === 'grpc' && /^[-.\w]{1,253}:\d{1,5}$/.test(url)), {
    path: ['url'],
    error: `${A_URL}, or for grpc a host and a port`,
  })

/** Collects the backends of a coordinator's relations. A unit without an endpoint has none. Invalid endpoints are named. */
export const readSources = (
  relations: EffectiveState['relations'],
  config: CoordinatorConfig,
  /** Completes a URL of an application in the namespace `home`. Undefined means the coordinator's namespace. */
  complete: (url: string, home: string | undefined) => string = (url) => url,
): Sources => {
  const endpoints = endpointNames(config)
  const { charmTracing, workloadTracing } = selectProtocols(config)
  const at = (endpoint: string, read: (relation: Relation) => DatabagValue<NamedUrl>[]) =>
    relationsWith(relations, { role: 'requires', endpoint }).map((relation) => ({
      relation: relationName(relation),
      reads: read(relation).map((one) =>
        andThen(one, ({ name, url }) => ({ value: { name, url: complete(url, relation.remote.namespace) } })),
      ),
    }))
  const told = [
    ...backends(
      'logging',
      at(endpoints.logging, (relation) => unitUrls(relation, 'endpoint')),
    ),
    ...backends(
      'remoteWrite',
      at(endpoints.remoteWrite, (relation) => unitUrls(relation, 'remote_write')),
    ),
    ...backends('charmTracing', at(endpoints.charmTracing, readReceivers(charmTracing))),
    ...backends('workloadTracing', at(endpoints.workloadTracing, readReceivers(workloadTracing))),
  ]
  const { items, problems } = bounded(told, ({ url }) => routeBytes(url))
  return {
    logging: items.flatMap((one) => (one.kind === 'logging' ? [{ unit: one.name, url: one.url }] : [])),
    remoteWrite: items.flatMap(({ kind, url }) => (kind === 'remoteWrite' ? [{ url }] : [])),
    charmTracing: byProtocol(items.filter(({ kind }) => kind === 'charmTracing')),
    workloadTracing: byProtocol(items.filter(({ kind }) => kind === 'workloadTracing')),
    problems: [...told.flatMap((one) => one.problems), ...problems],
  }
}

type Kind = 'logging' | 'remoteWrite' | 'charmTracing' | 'workloadTracing'

/** A URL with the name of its unit or protocol. */
type NamedUrl = { readonly name: string; readonly url: string }

const backends = (kind: Kind, told: readonly { relation: string; reads: readonly DatabagValue<NamedUrl>[] }[]) =>
  told.map(({ relation, reads }) => ({
    relation,
    items: selectValues(reads).map((one) => ({ kind, ...one })),
    problems: selectProblems(reads),
  }))

/** Lists the protocols to request in tracing relations, by relation key. A provider opens only the requested receivers. */
export const tracingRequests = (
  relations: EffectiveState['relations'],
  config: CoordinatorConfig,
): Record<string, OwnSide> => {
  const endpoints = endpointNames(config)
  const { charmTracing, workloadTracing = [] } = selectProtocols(config)
  const asked = (endpoint: string): string[] => [
    ...(endpoint === endpoints.charmTracing ? charmTracing : []),
    ...(endpoint === endpoints.workloadTracing ? workloadTracing : []),
  ]
  return Object.fromEntries(
    relationsWith(relations, { role: 'requires' })
      .map(({ key, endpoint }) => ({ key, protocols: [...new Set(asked(endpoint))] }))
      .filter(({ protocols }) => protocols.length > 0)
      .map(({ key, protocols }) => [key, { data: { receivers: pythonJson(protocols) } }]),
  )
}

const selectProtocols = ({ charmTracingProtocols, workloadTracingProtocols }: CoordinatorConfig) => ({
  charmTracing: charmTracingProtocols ?? ['otlp_http'],
  workloadTracing: workloadTracingProtocols,
})

const unitUrls = (relation: Relation, key: string): DatabagValue<NamedUrl>[] =>
  remoteUnits(relation).map(([unit, databag]) =>
    andThen(readKey(databag, key, UrlObject, `${relationName(relation)}: ${unitTitle(unit)}`), ({ url }) => ({
      value: { name: unit, url },
    })),
  )

const Receivers = z.array(z.unknown(), 'expected receivers: a list')

/** Reads the receivers of the wanted protocols, or all if none are given. */
const readReceivers =
  (wanted: readonly string[] | undefined) =>
  (relation: Relation): DatabagValue<NamedUrl>[] => {
    const name = `${relationName(relation)}: data`
    const list = readKey(relation.remote.data, 'receivers', Receivers, name)
    if ('unreadable' in list) return [list]
    return (list.value ?? []).map((receiver, index) =>
      andThen(check(receiver, Receiver, `${name}.receivers[${index}]`), ({ protocol, url }) => ({
        value: wanted === undefined || wanted.includes(protocol.name) ? { name: protocol.name, url } : undefined,
      })),
    )
  }

/** Selects the first receiver of each protocol. */
const byProtocol = (receivers: readonly NamedUrl[]): Record<string, string> =>
  Object.fromEntries(
    sortedGroups(receivers, ({ name }) => name).flatMap(([name, offers]) =>
      offers.slice(0, 1).map(({ url }) => [name, url]),
    ),
  )
