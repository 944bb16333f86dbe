import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { clusterDesire, type Environment } from './cluster/desire.ts'
import type { Event } from './events/cloud-event.ts'
import { meshDatabag } from './mesh/databags.ts'
import type { Position } from './order.ts'
import { at } from './record.ts'
import { heard, isVersioned } from './relations/heard.ts'
import { publishable } from './relations/payload.ts'
import { versionsOf } from './relations/versions.ts'
import { accepted, nothingAnnounced } from './services/announced.ts'
import { type Announcement, announcements } from './services/announcements.ts'
import { serviceContent } from './services/provided.ts'
import { sourceOf } from './source.ts'
import {
  type Databag,
  type Published,
  type Relation,
  relationName,
  relationsIn,
  type State,
  type Subject,
} from './state.ts'

/** An event to be sent, what it is in words, and what to remember once it is accepted. */
export type Publication = { event: Event; name: string; accept: (state: State) => State }

type Content = {
  data: Readonly<Record<string, string>>
  units?: Readonly<Record<string, Databag>> | undefined
  partial?: true | undefined
}

/** Tells one content from another; a short text. */
export const contentHash = ({ data, units }: { data: Databag; units?: object | undefined }): string =>
  createHash('sha256')
    .update(JSON.stringify([data, units ?? null]))
    .digest('hex')
    .slice(0, 16)

/** Whether an event comes from the remote application itself. */
export const isFrom = (
  arrival: { position: Position; namespace: string },
  { namespace = arrival.namespace, application }: { namespace?: string | undefined; application: string },
): boolean => arrival.position.source === sourceOf({ namespace, application })

/**
 * What remote applications are to be told yet: the databags that differ from what they accepted, and the relations that are over. The
 * sequence is that of the memory it follows from, so that of two processes the one with the older memory loses.
 */
export const publicationsDue = (subject: Subject, state: State, environment: Environment): Publication[] => {
  const before = state.published ?? {}
  const said = ownSides(subject, state, environment)
  const desired = relationsIn(state).flatMap((relation) => {
    const withdrawn = Object.hasOwn(before, relation.key) && !isHeld(state, relation) ? NOTHING : undefined
    const content = at(said, relation.key) ?? withdrawn
    return content === undefined ? [] : [{ relation, content: versioned(relation, content, state) }]
  })
  const changed = desired
    .map(({ relation, content }) => ({ relation, content, hash: contentHash(content) }))
    .filter(({ relation, hash }) => at(before, relation.key)?.hash !== hash)
    .map(({ relation, content, hash }) => changedPublication(subject, state, relation, { ...content, hash }))
  const ended = Object.entries(before)
    .filter(([key]) => !Object.hasOwn(state.relations, key))
    .map(([key, published]) => endedPublication(subject, state, key, published))
  const announced = announcements(subject, state.announced ?? nothingAnnounced())
  return [...changed, ...ended, ...announced.map(announcementPublication)]
}

/**
 * What followed from an older memory has lost at the receiver, whenever it was accepted. Events that share a step note the same, one after
 * another, and there may be hundreds of both.
 */
const withPublished = (state: State, key: string, entry: Published & { generation: number }): State => {
  const known = at(state.published, key)
  const isOlder = entry.generation < (known?.generation ?? 0)
  return isOlder || isDeepStrictEqual(known, entry)
    ? state
    : { ...state, published: { ...state.published, [key]: entry } }
}

/** A relation that has come back meanwhile is published again. */
const withoutPublished = ({ published = {}, ...state }: State, key: string): State => {
  const left = Object.entries(published).filter(([other]) => other !== key || Object.hasOwn(state.relations, key))
  return left.length === 0 ? state : { ...state, published: Object.fromEntries(left) }
}

/** Takes back what was said before. */
const NOTHING: Content = { data: {} }

/** A worker of which nothing is known for now keeps what it was told. */
const isHeld = ({ config }: State, { role }: Relation): boolean =>
  config?.coordinator !== undefined && role === 'provides'

/** For whoever listens at the sink; no application is told. */
const announcementPublication = ({ number, event }: Announcement): Publication => ({
  event,
  name: `${event.type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1')} of ${event.subject}`,
  accept: (state) => (state.announced ? { ...state, announced: accepted(state.announced, [number]) } : state),
})

/** What this side says in each relation, by its key, in the flat keys of the interface; nothing where that is as it was. */
const ownSides = (subject: Subject, memory: State, environment: Environment): Record<string, Content> => {
  const { state } = heard(memory)
  const mesh = relationsIn(state).flatMap((relation) => {
    const data =
      meshDatabag(subject, state, relation) ?? serviceContent(relation, subject.namespace, state.config?.services)
    return data === undefined ? [] : [[relation.key, { data }] as const]
  })
  return { ...Object.fromEntries(mesh), ...clusterDesire(subject, state, environment).databags }
}

const versioned = ({ interface: name }: Relation, { data, ...content }: Content, { config }: State): Content =>
  isVersioned(name) ? { data: publishable(data, versionsOf(name, config?.versions)), ...content } : { data, ...content }

const OPPOSITE = { provides: 'requires', requires: 'provides', peers: 'peers' } as const

/** How the other side calls its end of a relation, where nobody has told. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  'require-cmr-mesh': 'provide-cmr-mesh',
  'provide-cmr-mesh': 'require-cmr-mesh',
}

const changedPublication = (
  subject: Subject,
  state: State,
  { key, id, endpoint, interface: name, role, remote, published: heard }: Relation & { key: string },
  { data, units, hash, partial }: Content & { hash: string },
): Publication => {
  const to = { namespace: remote.namespace ?? subject.namespace, application: remote.application }
  const theirEndpoint = remote.endpoint ?? at(ENDPOINTS, endpoint) ?? endpoint
  const own = { id, endpoint, interface: name, role }
  const event = eventOf(subject, state, to, 'relation-changed', `${key}/${hash}`, {
    relation: { id, endpoint: theirEndpoint, interface: name, role: OPPOSITE[role] },
    remote: {
      application: subject.application,
      namespace: subject.namespace,
      endpoint,
      data,
      ...(units && { units }),
      ...(heard && { heard: heard.hash }),
    },
  })
  const published = { ...own, to, hash, generation: state.generation ?? 0, ...(partial && { partial }) }
  return { event, name: nameOf(own, to), accept: (before) => withPublished(before, key, published) }
}

const endedPublication = (subject: Subject, state: State, key: string, published: Published): Publication => {
  const { id, endpoint, interface: name, role, to } = published
  const remote = { application: subject.application, namespace: subject.namespace }
  const data = { relation: { id, interface: name, role: OPPOSITE[role] }, remote }
  const event = eventOf(subject, state, to, 'relation-broken', `${key}/broken`, data)
  return { event, name: nameOf({ id, endpoint }, to), accept: (before) => withoutPublished(before, key) }
}

const nameOf = (relation: Pick<Relation, 'id' | 'endpoint'>, to: Subject): string =>
  `${relationName(relation)} to ${to.namespace}/${to.application}`

const eventOf = (
  subject: Subject,
  { generation = 0 }: State,
  to: Subject,
  name: string,
  what: string,
  data: Record<string, unknown>,
): Event => ({
  // two remote applications may have relations of one id, and are told the same
  id: `${subject.namespace}/${subject.application}/${generation}/${to.namespace}/${to.application}/${what}`,
  source: sourceOf(subject),
  type: `dev.meshstep.${name}.v1`,
  subject: `${to.namespace}/${to.application}`,
  datacontenttype: 'application/json',
  extensions: { sequence: String(generation), partitionkey: `${to.namespace}/${to.application}` },
  data: { namespace: to.namespace, application: to.application, ...data },
})
