import { changed, ownValue } from '../base/own-value.ts'
import type { Features } from '../feature/combine.ts'
import type { FeatureInput, OwnSide, Publications } from '../feature/feature.ts'
import { withCustomData } from '../relations/application-data.ts'
import { publishable } from '../relations/codec.ts'
import { isVersioned } from '../relations/effective.ts'
import { contentHash, hasProtocol } from '../relations/mirror.ts'
import { spokenVersions } from '../relations/versions.ts'
import type { PublishedData, Relation, RelationEntry } from '../state/relation.ts'
import { type EffectiveState, isConfigUnknown, type State } from '../state/state.ts'

/** The input of what an application says; `content` is what its features publish. */
export type PublishInput = Pick<FeatureInput, 'subject' | 'resolved'> & {
  readonly state: State
  readonly content: Publications
}

/**
 * The state with what the application says in each of its relations now. Where that depends on something unknown, or nothing is to be said
 * any more by an application without a config, it is as it was.
 */
export const withSaid = (features: Features, { subject, resolved, state, content }: PublishInput): State => {
  const next = (key: string, entry: RelationEntry): PublishedData | undefined => {
    const before = entry.says === undefined ? undefined : ownValue(state.says, entry.says)
    const relation = ownValue(resolved.state.relations, key)
    if (relation === undefined || (before && features.keeps(resolved, relation))) return before
    const said =
      ownValue(content, key) ?? (isWithdrawn(features, resolved.state, relation, before) ? NOTHING : undefined)
    const all = withCustomData(
      subject.application,
      state,
      relation,
      said && withRequests(withKept(said, before), before),
    )
    return all ? versioned(relation, withCompleteness(relation, all, said, state), state.config) : before
  }
  const says: Record<string, PublishedData> = {}
  const relations = Object.entries(state.relations).map(([key, entry]) => {
    const said = next(key, entry)
    const hash = said && contentHash(said)
    if (said && hash) says[hash] = ownValue(state.says, hash) ?? said
    return [key, changed(entry, { says: hash })] as const
  })
  const { says: _, ...others } = state
  return {
    ...others,
    relations: Object.fromEntries(relations),
    ...(Object.keys(says).length > 0 && { says }),
  }
}

/** Marks custom data alone as incomplete while those of the protocol are to come with the config. */
const withCompleteness = (
  relation: Relation,
  all: PublishedData,
  said: OwnSide | undefined,
  state: State,
): PublishedData =>
  said === undefined && hasProtocol(relation) && isConfigUnknown(state) ? { ...all, partial: true } : all

const NOTHING: OwnSide = { data: {} }

/** Some of it is said once it is true, and until then as before. */
const withKept = ({ kept = [], ...said }: OwnSide, before: PublishedData | undefined): PublishedData => {
  const isKept = ([key]: [string, string]) => kept.includes(key)
  const data = [
    ...Object.entries(said.data).filter((entry) => !isKept(entry)),
    ...Object.entries(before?.data ?? {}).filter(isKept),
  ]
  return { ...said, data: Object.fromEntries(data) }
}

/** Adds an empty list of policies if policies were requested before and none are now. Their withdrawal is not left to others. */
const withRequests = (said: PublishedData, before: PublishedData | undefined): PublishedData =>
  before?.data.policies !== undefined && said.data.policies === undefined
    ? { ...said, data: { ...said.data, policies: '[]' } }
    : said

/**
 * Tells if the application has to publish that it has nothing to say. It does with a config or after its removal; without a config, that may
 * only be unknown yet.
 */
const isWithdrawn = (
  features: Features,
  state: EffectiveState,
  relation: Relation,
  before: PublishedData | undefined,
): boolean =>
  (state.config !== undefined || state.removed !== undefined) &&
  (hasProtocol(relation) || before !== undefined) &&
  !features.leaves(state, relation)

const versioned = (
  { interface: name }: Pick<Relation, 'interface'>,
  said: PublishedData,
  config: State['config'],
): PublishedData =>
  isVersioned(name) ? { ...said, data: publishable(said.data, spokenVersions(name, config?.versions)) } : said
