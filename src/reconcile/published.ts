import { at, defined } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import type { OwnSide } from '../coordinated-workers/databag.ts'
import { clusterDesire, dependsOnUnknown } from '../coordinated-workers/desire.ts'
import type { Surroundings } from '../coordinated-workers/surroundings.ts'
import { withOwnData } from '../relations/application-data.ts'
import { publishable } from '../relations/codec.ts'
import { type Effective, isVersioned } from '../relations/effective.ts'
import { contentHash, isTelling } from '../relations/mirror.ts'
import { versionsOf } from '../relations/versions.ts'
import { meshDatabag } from '../service-mesh/databags.ts'
import { serviceContent } from '../services/provided.ts'
import { type Relation, type RelationEntry, relationsIn, type Said } from '../state/relation.ts'
import type { EffectiveState, State } from '../state/state.ts'

/**
 * The state with what the application says in each of its relations now. Where that depends on something unknown, or nothing is to be said
 * any more by an application without a config, it is as it was.
 */
export const withSaid = (subject: Subject, state: State, resolved: Effective, surroundings: Surroundings): State => {
  const content = contents(subject, resolved.state, surroundings)
  const keeps = keptWhileUnknown(resolved)
  const next = (key: string, entry: RelationEntry): Said | undefined => {
    const before = entry.says === undefined ? undefined : at(state.says, entry.says)
    const relation = at(resolved.state.relations, key)
    if (relation === undefined || (before && keeps(relation))) return before
    const said = at(content, key) ?? (isWithdrawn(resolved.state, relation, before) ? NOTHING : undefined)
    const all = withOwnData(subject.application, state, relation, said && withRequests(withKept(said, before), before))
    return all ? versioned(relation, all, state.config) : before
  }
  const says: Record<string, Said> = {}
  const relations = Object.entries(state.relations).map(([key, entry]) => {
    const said = next(key, entry)
    const hash = said && contentHash(said)
    if (said && hash) says[hash] = said
    return [key, defined({ ...entry, says: hash })] as const
  })
  const { says: _, ...others } = state
  return {
    ...others,
    relations: Object.fromEntries(relations),
    ...(Object.keys(says).length > 0 && { says }),
  }
}

const NOTHING: OwnSide = { data: {} }

/** Some of it is said once it is true, and until then as before. */
const withKept = ({ kept = [], ...said }: OwnSide, before: Said | undefined): Said => {
  const isKept = ([key]: [string, string]) => kept.includes(key)
  const data = [
    ...Object.entries(said.data).filter((entry) => !isKept(entry)),
    ...Object.entries(before?.data ?? {}).filter(isKept),
  ]
  return { ...said, data: Object.fromEntries(data) }
}

/** Whoever asked for policies before asks for none, and does not leave that to others. */
const withRequests = (said: Said, before: Said | undefined): Said =>
  before?.data.policies !== undefined && said.data.policies === undefined
    ? { ...said, data: { ...said.data, policies: '[]' } }
    : said

/** Whoever has a config and nothing to say says so, and whoever was removed; without a config it may only not be known yet. */
const isWithdrawn = (
  { config, removed }: EffectiveState,
  { interface: name, role }: Relation,
  before: Said | undefined,
): boolean =>
  (config !== undefined || removed !== undefined) &&
  (isTelling({ interface: name }) || before !== undefined) &&
  // a worker of which nothing is known for now keeps what it was told
  !(config?.coordinator !== undefined && role === 'provides')

/** Requests depend on who an alias is, and what is said in a cluster on all of it. */
const keptWhileUnknown = ({ state, unknown }: Effective): ((relation: Relation) => boolean) => {
  const isCluster = dependsOnUnknown(state, unknown)
  const isAliasUnknown = unknown.some(({ interface: name }) => name === 'cross_model_mesh')
  return ({ interface: name, role }) => isCluster || (isAliasUnknown && name === 'service_mesh' && role === 'requires')
}

/** What this side says, by the key of the relation, in the flat keys of the interface. */
const contents = (subject: Subject, state: EffectiveState, surroundings: Surroundings): Record<string, OwnSide> => {
  const each = relationsIn(state).flatMap((relation) => {
    const data =
      meshDatabag(subject, state, relation) ?? serviceContent(relation, subject.namespace, state.config?.services)
    return data === undefined ? [] : [[relation.key, { data }] as const]
  })
  return { ...Object.fromEntries(each), ...clusterDesire(subject, state, surroundings).databags }
}

const versioned = ({ interface: name }: Pick<Relation, 'interface'>, said: Said, config: State['config']): Said =>
  isVersioned(name) ? { ...said, data: publishable(said.data, versionsOf(name, config?.versions)) } : said
