import * as z from 'zod'
import { defined } from '../../platform/base/own-value.ts'
import { ownedName } from './owned-kinds.ts'
import { relationKey } from './relation.ts'

type Fields = Readonly<Record<string, unknown>>

const Text = z.string().optional()
const Flag = z.boolean().optional()

const Entry = z.looseObject({
  id: z.number(),
  role: z.string(),
  interface: z.string(),
  remote: z.looseObject({
    application: z.string(),
    namespace: Text,
    data: z.looseObject({}),
    units: z.looseObject({}).optional(),
  }),
  word: z.string(),
  mark: z.unknown(),
  mine: z.boolean(),
  since: Text,
  emptied: Flag,
  kept: z.unknown().optional(),
  says: Text,
  revision: Text,
  seen: Text,
  heard: Flag,
  granted: Text,
  holds: Flag,
  taking: Flag,
  sent: Text,
})

const State = z.looseObject({
  version: z.literal(2),
  relations: z.record(z.string(), Entry),
  tombstones: z.record(z.string(), z.looseObject({ mark: z.unknown(), since: z.string() })).optional(),
  carried: Flag,
  says: z.unknown().optional(),
  awaits: Text,
  writing: Text,
  former: z.unknown().optional(),
  owned: z.array(z.string()).optional(),
  formerlyOwned: z.record(z.string(), z.string()).optional(),
  later: z
    .looseObject({ owned: z.array(z.string()).optional(), formerlyOwned: z.record(z.string(), z.string()).optional() })
    .optional(),
})

/**
 * Migrates a state of version 2 to version 3: named states replace texts and flags, and keys are complete. An invalid one stays as it is.
 */
export const fromVersion2 = (value: unknown): unknown => {
  const second = State.safeParse(withoutPodSpecs(value))
  if (!second.success) return value
  const { relations, tombstones, carried, says, awaits, writing, former, owned, formerlyOwned, later, ...others } =
    second.data
  const kinds = [...(owned ?? []), ...(later?.owned ?? [])]
  const previous = Object.entries({ ...formerlyOwned, ...later?.formerlyOwned })
  return defined({
    ...others,
    version: 3,
    relations: Object.fromEntries(
      Object.entries(relations)
        // of two names of one relation, the one with the id counts
        .toSorted(([one], [other]) => Number(isNumber(one)) - Number(isNumber(other)))
        .map(([key, entry]) => [relationKey(entry), entryOf(entry, isNumber(key))]),
    ),
    tombstones:
      tombstones && mapped(tombstones, ({ mark, since, ...end }) => ({ ...end, position: mark, endedAt: since })),
    recovering: carried,
    published: says,
    awaiting: awaits === undefined ? undefined : AWAITING[awaits],
    writeToken: writing,
    previousTargets: former,
    owned: kinds.length === 0 ? undefined : kinds.map(ownedName).toSorted(),
    previouslyOwned:
      previous.length === 0 ? undefined : Object.fromEntries(previous.map(([kind, since]) => [ownedName(kind), since])),
  })
}

const AWAITING: Readonly<Record<string, string>> = { carried: 'labels-applied', 'let-go': 'labels-removed' }

const isNumber = (key: string): boolean => /^\d+$/.test(key)

const mapped = <T>(record: Readonly<Record<string, T>>, change: (value: T) => Fields): Fields =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))

const entryOf = (entry: z.infer<typeof Entry>, hasId: boolean): Fields => {
  const { remote, word, mark, mine, since, emptied, kept, says, revision, seen, heard, granted, holds, taking, sent } =
    entry
  const { id, role, interface: name, ...others } = entry
  const { data, ...named } = remote
  const isTold = emptied === true || [data, remote.units ?? {}].some((databag) => Object.keys(databag).length > 0)
  return defined({
    ...rest(others),
    ...{ id, role, interface: name },
    remote: isTold ? remote : named,
    status: word === 'told' ? 'established' : word,
    position: mark,
    announcedHere: mine,
    endedAt: since,
    lastReadable: kept,
    waitsForId: hasId ? undefined : true,
    published: nonEmpty({ digest: says, generation: revision }),
    peer: nonEmpty({ publishes: heard, observed: seen, delivered: sent === '' ? null : sent }),
    labels: holds ? (taking ? 'applying' : 'applied') : undefined,
    grant: granted === undefined ? undefined : grantOf(granted),
  })
}

/** Selects the fields of an entry that have the same name in both versions. */
const rest = (entry: Fields): Fields => {
  const renamed = 'word mark mine since emptied kept says revision seen heard granted holds taking sent'.split(' ')
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !renamed.includes(name)))
}

const nonEmpty = (group: Fields): Fields | undefined => {
  const known = defined(group)
  return Object.keys(known).length === 0 ? undefined : known
}

const grantOf = (granted: string): Fields => {
  if (granted === 'changing') return { phase: 'revoking' }
  return granted === '-' ? { phase: 'standing' } : { phase: 'standing', digest: granted }
}

/** A pod spec that earlier programs held back: they kept the running spec beside the new config. */
const Former = z.looseObject({
  specs: z.looseObject({
    spec: z.unknown().optional(),
    loop: z.looseObject({ paths: z.array(z.string()), at: z.int() }),
  }),
  config: z.looseObject({ workload: z.looseObject({}) }),
})

/** Turns a history of pod specs into one of the config, with the running spec. A history without a loop is dropped. */
const withoutPodSpecs = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('specs' in value)) return value
  const { specs: _, ...others } = value
  const former = Former.safeParse(value)
  if (!former.success) return others
  const { specs, config } = former.data
  const held = { ...specs.loop, paths: specs.loop.paths.map((path) => `workload.podSpec.${path}`) }
  return {
    ...others,
    config: { ...config, workload: { ...config.workload, podSpec: specs.spec } },
    configChurn: { workload: { recent: {}, whole: {}, held } },
  }
}
