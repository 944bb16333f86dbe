import { type Condition, condition } from '../../../platform/base/condition.ts'
import { jsonBytes } from '../../../platform/base/json-bytes.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { Features } from '../../feature/combine.ts'
import type { FeatureInput, OwnSide, Publications } from '../../feature/feature.ts'
import { withCustomData } from '../../relations/databags/application-data.ts'
import { spokenVersions } from '../../relations/databags/protocol-versions.ts'
import { isVersioned, publishable } from '../../relations/databags/relation-data.ts'
import { contentHash } from '../../relations/offers/published-version.ts'
import { withCarried } from '../../relations/resolve-relations.ts'
import { withEntries } from '../../relations/told/entries.ts'
import { protocolOf } from '../../state/interfaces.ts'
import { FULL_BYTES, hasRoom, type Memory, measureContent } from '../../state/memory.ts'
import {
  type PublishedData,
  publishedWith,
  type Relation,
  type RelationEntry,
  relationName,
} from '../../state/relation.ts'
import { publishedIn, type State } from '../../state/state.ts'

/** The input of an application's databags. `content` is the data that its features publish. */
export type PublishInput = Pick<FeatureInput, 'subject' | 'resolved'> & {
  readonly state: State
  readonly content: Publications
}

/**
 * Computes the data to publish in each relation. One that is over, and whose labels may still be carried, publishes its last data, and is
 * invisible to all other relations.
 */
export const publicationsIn = (features: Features, input: FeatureInput): Publications => {
  const said = features.publications(input)
  const { carried } = input.resolved
  if (Object.keys(carried).length === 0) return said
  const last = features.publications({ ...input, resolved: withCarried(input.resolved) })
  return { ...Object.fromEntries(Object.entries(last).filter(([key]) => Object.hasOwn(carried, key))), ...said }
}

/**
 * Computes the state with the application's current databag in each relation. A databag stays unchanged if it depends on something unknown,
 * or if the application has no config and so cannot withdraw anything.
 */
export const publishDatabags = (features: Features, { subject, resolved, state, content }: PublishInput): State => {
  const next = (key: string, entry: RelationEntry): PublishedData | undefined => {
    const before = publishedIn(state, entry)
    const relation = ownValue(resolved.state.relations, key)
    if (relation === undefined || (before && features.keeps(resolved, relation))) return before
    const said = ownValue(content, key) ?? (isWithdrawn(features, resolved, relation, before) ? NOTHING : undefined)
    const all = withCustomData(
      subject.application,
      state,
      relation,
      said && withRequests(withKept(said, before), before),
    )
    if (all === undefined) return before
    return versioned(relation, said === undefined ? withCompleteness(resolved, relation, all) : all, state.config)
  }
  const published: Record<string, PublishedData> = {}
  const publishing = withEntries(state, (entry, key) => {
    const said = next(key, entry)
    const hash = said && contentHash(said)
    if (said && hash) published[hash] = ownValue(state.published, hash) ?? said
    return digestOf(entry, hash)
  })
  return withDatabags(publishing, published)
}

/** Marks a databag with only custom data as incomplete, while its protocol data are still to come with the config. */
const withCompleteness = (
  { unknown }: PublishInput['resolved'],
  relation: Relation,
  all: PublishedData,
): PublishedData => (unknown.config && protocolOf(relation.interface) ? { ...all, partial: true } : all)

const withDatabags = ({ published: _, ...state }: State, published: NonNullable<State['published']>): State => ({
  ...state,
  ...(Object.keys(published).length > 0 && { published }),
})

/** Returns the change of the published data of an entry. Other data have a version of their own, from the next save on. */
const digestOf = (entry: RelationEntry, digest: string | undefined): Partial<RelationEntry> =>
  entry.published?.digest === digest ? {} : publishedWith(entry, { digest, version: undefined })

/**
 * Limits new databags to the room in the memory. A databag that does not fit stays as it was in `before`, and a problem reports it.
 * Databags that shrink come first, because they make room.
 */
export const limitDatabags = (
  memory: Memory,
  before: State,
  said: State,
): { state: State; noRoom: readonly Condition[] } => {
  const { labels } = memory
  const keys = Object.keys(said.relations).filter((key) => hashIn(said, key) !== hashIn(before, key))
  if (keys.length === 0 || hasRoom({ state: said, labels }, memory)) return { state: said, noRoom: [] }
  // many relations may publish one databag
  const alike = Map.groupBy(keys, (key) => `${hashIn(before, key)} ${hashIn(said, key)}`)
  const growth = (key: string) => bytesIn(said, key) - bytesIn(before, key)
  const sized = [...alike.values()].toSorted(([one = ''], [other = '']) => growth(one) - growth(other))
  const noRoom: Condition[] = []
  let state = sayingAsIn(said, before, keys)
  for (const group of sized) {
    const left = keys.filter((key) => !group.includes(key) && hashIn(state, key) !== hashIn(said, key))
    const candidate = sayingAsIn(said, before, left)
    if (hasRoom({ state: candidate, labels }, { state, labels })) state = candidate
    else noRoom.push(...group.map((key) => noRoomFor(said, key, measureContent({ state: candidate, labels }))))
  }
  return { state, noRoom }
}

const hashIn = ({ relations }: State, key: string): string | undefined => ownValue(relations, key)?.published?.digest

const bytesIn = (state: State, key: string): number => {
  const hash = hashIn(state, key)
  return hash === undefined ? 0 : jsonBytes(ownValue(state.published, hash) ?? {}, 1)
}

/** Returns the state, with the databags of `before` in the relations `keys`. */
export const sayingAsIn = (state: State, before: State, keys: readonly string[]): State => {
  const kept = new Set(keys)
  const saying = withEntries(state, (entry, key) => (kept.has(key) ? digestOf(entry, hashIn(before, key)) : undefined))
  const hashes = new Set(Object.values(saying.relations).flatMap((entry) => entry.published?.digest ?? []))
  const published = Object.entries({ ...before.published, ...state.published }).filter(([hash]) => hashes.has(hash))
  return withDatabags(saying, Object.fromEntries(published))
}

const noRoomFor = ({ relations }: State, key: string, bytes: number): Condition => {
  const { remote, ...entry } = relations[key] as RelationEntry
  const object = `${relationName(entry)} with ${remote.application}`
  const why =
    `${object}: what is to be published there does not fit, as the memory would have ${bytes} bytes, ` +
    `and at most ${FULL_BYTES} fit into a ConfigMap: ask for less in the config; what was published before stays`
  return condition('Waiting', 'NoRoom', object, why)
}

const NOTHING: OwnSide = { data: {} }

/** Keeps the earlier values of the keys in `kept`: these are published later, once they are true. */
const withKept = ({ kept = [], ...said }: OwnSide, before: PublishedData | undefined): PublishedData => {
  const isKept = ([key]: [string, string]) => kept.includes(key)
  const data = [
    ...Object.entries(said.data).filter((entry) => !isKept(entry)),
    ...Object.entries(before?.data ?? {}).filter(isKept),
  ]
  return { ...said, data: Object.fromEntries(data) }
}

/** Adds an empty list of policies if policies were requested before and none are now, so that the withdrawal is explicit. */
const withRequests = (said: PublishedData, before: PublishedData | undefined): PublishedData =>
  before?.data.policies !== undefined && said.data.policies === undefined
    ? { ...said, data: { ...said.data, policies: '[]' } }
    : said

/** Tells if the application has to publish that it has nothing to say. That needs a config, or its removal. Without a config, the data may only be unknown. */
const isWithdrawn = (
  features: Features,
  { state, unknown }: PublishInput['resolved'],
  relation: Relation,
  before: PublishedData | undefined,
): boolean =>
  !unknown.config &&
  (protocolOf(relation.interface) !== undefined || before !== undefined) &&
  !features.withdrawsNothing(state, relation)

const versioned = (
  { interface: name }: Pick<Relation, 'interface'>,
  said: PublishedData,
  config: State['config'],
): PublishedData =>
  isVersioned(name) ? { ...said, data: publishable(said.data, spokenVersions(name, config?.versions)) } : said
