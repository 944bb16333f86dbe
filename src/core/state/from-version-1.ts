import * as z from 'zod'
import type { Mark } from '../../platform/base/event-order.ts'
import { instantMilliseconds } from '../../platform/base/timestamp.ts'

type Fields = Record<string, unknown>

/** The first form of a mark: the last `sequence` or `time` by source, and the time of deletion. */
const Accepted = z.object({ bySource: z.record(z.string(), z.string()), gone: z.iso.datetime().optional() })
type Accepted = z.infer<typeof Accepted>

const FirstRelation = z.looseObject({
  id: z.number(),
  remote: z.looseObject({}),
  published: z.unknown().optional(),
  document: z.string().optional(),
})

const FirstState = z.looseObject({
  version: z.literal(1),
  relations: z.record(z.string(), FirstRelation),
  accepted: z.record(z.string(), Accepted),
  announced: z.looseObject({ relations: z.record(z.string(), z.unknown()) }).optional(),
  units: z.looseObject({ present: z.record(z.string(), z.looseObject({})).optional() }),
})

/**
 * Migrates a state of version 1 to version 2. An invalid one stays as it is. Data of peers are read from their memories from now on. Until
 * these are migrated, everything that was applied for them stays.
 */
export const fromVersion1 = (value: unknown): unknown => {
  const first = FirstState.safeParse(value)
  if (!first.success) return value
  const { relations, accepted, units, announced, generation: _g, published: _p, version: _v, ...others } = first.data
  const removed = accepted.application?.gone
  const isGone = removed !== undefined && others.config === undefined && Object.keys(relations).length === 0
  return {
    ...others,
    version: 2,
    units: withoutOrder(units),
    ...(isGone && { removed }),
    ...(announced && { announced: byId(announced) }),
    marks: marksOf(accepted),
    relations: Object.fromEntries(
      Object.entries(relations)
        .filter(([, { remote }]) => remote.application !== undefined)
        // of two relations with one id, the one numbered by a platform counts
        .toSorted(([one], [other]) => Number(!one.includes('/')) - Number(!other.includes('/')))
        .map(([, relation]) => [String(relation.id), entryOf(relation, accepted)]),
    ),
    tombstones: tombstonesOf(accepted, relations),
  }
}

/** Renames announced relations to their ids. They could also have the name `{namespace}/{application}/{id}`, if only the peer had announced them. */
const byId = ({ relations, ...announced }: NonNullable<z.infer<typeof FirstState>['announced']>): Fields => ({
  ...announced,
  relations: Object.fromEntries(
    Object.entries(relations).map(([key, entry]) => {
      const id = /\/(\d+)$/.exec(key)?.[1]
      return id === undefined ? [key, entry] : [id, numbered(entry, Number(id))]
    }),
  ),
})

/** Replaces every `relation` in an announcement by the id. */
const numbered = (value: unknown, id: number): unknown => {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, key === 'relation' ? id : numbered(member, id)]),
  )
}

/** Drops the order of reports, which used another kind of position: the next report counts. Units without numbers are dropped by their schema. */
const withoutOrder = ({ present, ...units }: z.infer<typeof FirstState>['units']): Fields => {
  if (present === undefined) return units
  const unordered = Object.entries(present).map(([uid, { reported: _, ...unit }]) => [uid, unit])
  return { ...units, present: Object.fromEntries(unordered) }
}

const ABOUT = ['config', 'settings', 'leader', 'application'] as const

const marksOf = (accepted: Readonly<Record<string, Accepted>>): Partial<Record<(typeof ABOUT)[number], Mark>> =>
  Object.fromEntries(ABOUT.flatMap((about) => (accepted[about] ? [[about, markOf(accepted[about])]] : [])))

const entryOf = (
  { published, kept, remote: { heard: _, ...remote }, ...relation }: z.infer<typeof FirstRelation>,
  accepted: Readonly<Record<string, Accepted>>,
): Fields => ({
  ...relation,
  // data of the platform were not in effect beside published ones; the peer's memory is read from now on
  remote: published === undefined ? remote : { ...remote, data: {}, units: undefined },
  ...(published === undefined && kept !== undefined && { kept }),
  word: 'told',
  mark: markOf(accepted[`relation/${relation.id}`]),
  // a relation that only the peer announced is known to the peer
  mine: published === undefined || relation.document !== undefined || Object.keys(remote.data ?? {}).length > 0,
  ...(published !== undefined && { heard: true, ...(relation.role === 'requires' && { holds: true }) }),
})

const tombstonesOf = (accepted: Readonly<Record<string, Accepted>>, relations: object): Fields =>
  Object.fromEntries(
    Object.entries(accepted).flatMap(([about, entry]) => {
      const id = /^relation\/(\d+)$/.exec(about)?.[1]
      const isTombstone = id !== undefined && entry.gone !== undefined && !Object.hasOwn(relations, id)
      return isTombstone ? [[id, { mark: markOf(entry), since: entry.gone }]] : []
    }),
  )

const markOf = (accepted: Accepted = { bySource: {} }): Mark => {
  const positions = Object.entries(accepted.bySource)
  const times = positions.flatMap(([, text]) => (text.startsWith('time ') ? [instantMilliseconds(text.slice(5))] : []))
  const sequences = positions.flatMap(([source, text]) =>
    text.startsWith('sequence ') && !source.startsWith('/meshstep/') ? [[source, text.slice(9)] as const] : [],
  )
  return { at: Math.max(0, ...times), ...(sequences.length > 0 && { sequences: Object.fromEntries(sequences) }) }
}
