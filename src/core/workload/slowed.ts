import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { changed, defined, ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Config, SpecSource } from '../state/config.ts'
import type { ApplicationData, State } from '../state/state.ts'
import type { Units } from '../units/units.ts'

/** The changes that units made to a part without ten quiet minutes, the time of the last one, and the value that waits. */
const SlowedPart = z.strictObject({
  flips: z.int().positive(),
  /** In milliseconds since the epoch. */
  at: z.int(),
  /** Without a value, the part goes. */
  held: z.strictObject({ value: z.unknown().optional() }).optional(),
})
type SlowedPart = z.infer<typeof SlowedPart>

/** The parts that units change, by name: `config.workload`, `settings`, `databag`, `unit.{uid of its pod}`. */
export const Slowed = z.record(z.string(), SlowedPart)
export type Slowed = z.infer<typeof Slowed>

/** Keys of the config that are never slowed, because they decide on access, and restart nothing. */
const NEVER_SLOWED: ReadonlySet<string> = new Set<keyof Config>([
  ...(['policies', 'meshPolicies', 'rawPolicies', 'enforcement', 'trustDomain', 'serviceAccounts', 'expect'] as const),
])

const QUIET_MILLISECONDS = 600_000

/** The time between a change and the next one: 10 seconds after the first change, then twice as long each time, up to 5 minutes. */
const delayAfter = (flips: number): number => Math.min(10_000 * 2 ** (flips - 1), 300_000)

/**
 * Slows what units change again and again: a part that was changed within ten minutes stays as it was until its delay is over, and the last
 * value waits in the memory. The next event takes it then. What a person or a document says is taken at once, and ends the count.
 */
export const withSlowed = (before: State, after: State, by: By, now: number): State => {
  const [was, told] = [partsOf(before), partsOf(after)]
  const remembered = Object.entries(after.slowed ?? {})
  const known = remembered.filter(([name]) => isThere(name, after))
  const isTold = (name: string) =>
    name.startsWith(CONFIG) ? before.config !== after.config : was.get(name) !== told.get(name)
  const names = [...was.keys(), ...told.keys(), ...known.map(([name]) => name)]
  const asked = new Map([
    ...known.flatMap(([name, { held }]) => (held ? [[name, held.value] as const] : [])),
    ...names.filter((name) => isThere(name, after) && isTold(name)).map((name) => [name, told.get(name)] as const),
  ])
  if (asked.size === 0 && known.length === remembered.length) return after
  const slowed = new Map(known.filter(([, { at }]) => now - at < QUIET_MILLISECONDS))
  let state = after
  for (const [name, value] of asked) {
    const isFree = isTold(name) && isOfPerson(name, by)
    const part = isFree ? undefined : partAfter(slowed.get(name), was.get(name), value, now)
    if (part) slowed.set(name, part)
    else slowed.delete(name)
    state = withPart(state, name, part?.held ? was.get(name) : value)
  }
  return changed(state, { slowed: slowed.size > 0 ? Object.fromEntries(slowed) : undefined })
}

/** Says who told the parts of an event. */
type By = (part: keyof ApplicationData) => SpecSource

/** Tells if a person or a document told a part. Only a unit tells its own databag, whoever sent the event. */
const isOfPerson = (name: string, by: By): boolean =>
  !name.startsWith(UNIT) && by(name.startsWith(CONFIG) ? 'config' : (name as keyof ApplicationData)) !== 'unit'

/** Returns the part of a config that waits with a workload. */
export const heldConfig = (slowed: Slowed | undefined): { workload?: object } =>
  defined({ workload: slowed?.[`${CONFIG}workload`]?.held?.value as object | undefined })

/** Lists the parts that wait. Values are not told, because they may be secret. */
export const slowedWaits = (subject: Subject, state: State): Condition[] => {
  const parts = partsOf(state)
  return Object.entries(state.slowed ?? {}).flatMap(([name, { flips, at, held }]) => {
    if (held === undefined || !isThere(name, state)) return []
    const unit = unitOf(name, state)
    const shown = unit ? `the databag of pod ${unit.pod}` : name
    const paths = differences(parts.get(name), held.value)
    const others = paths.length > MOST_PATHS ? ' and others' : ''
    const where = paths.includes('') ? 'as a whole' : `in ${paths.slice(0, MOST_PATHS).join(', ')}${others}`
    const time = new Date(at + delayAfter(flips)).toISOString()
    const message = `${shown}: units keep changing it. What they sent last differs ${where}, and is taken by the next event, or a resync, after ${time}`
    return [waitFor([subjectName(subject)], 'Slowed', shown, message)]
  })
}

const MOST_PATHS = 3
const LONGEST_PATH = 100

/** Lists the paths of the deepest values that differ: `.podSpec.containers[web].image`. A whole value has none. */
const differences = (one: unknown, other: unknown, path = ''): string[] => {
  if (isDeepStrictEqual(one, other)) return []
  const [left, right] = [childrenOf(one), childrenOf(other)]
  const deeper = [...new Set([...left.keys(), ...right.keys()])].flatMap((step) =>
    differences(left.get(step), right.get(step), path + step),
  )
  const isDeeper = left.size > 0 && right.size > 0 && deeper.length > 0
  return isDeeper ? deeper : [path.replace(/^\./, '').slice(0, LONGEST_PATH)]
}

const childrenOf = (value: unknown): ReadonlyMap<string, unknown> => {
  if (typeof value !== 'object' || value === null) return new Map()
  if (!Array.isArray(value)) return new Map(Object.entries(value).map(([key, child]) => [`.${key}`, child]))
  return new Map(value.map((item, index) => [`[${typeof item?.name === 'string' ? item.name : index}]`, item]))
}

/** Counts a change of a part, or holds it. A part that was not there, or stays as it is, does not count. */
const partAfter = (part: SlowedPart | undefined, was: unknown, value: unknown, now: number): SlowedPart | undefined => {
  const { flips = 0, at = now } = part ?? {}
  if (isDeepStrictEqual(counted(was), counted(value)) || (!part && was === undefined)) return part && { flips, at }
  const isHeld = part !== undefined && now < at + delayAfter(flips)
  return isHeld ? { flips, at, held: defined({ value: asStored(value) }) } : { flips: flips + 1, at: now }
}

/** Leaves out the revision of a workload, which is only for readers of the config. */
const counted = (value: unknown): unknown => {
  const stored = asStored(value)
  if (typeof stored !== 'object' || stored === null || !('podSpec' in stored)) return stored
  return { ...stored, revision: undefined }
}

/** Returns a value as JSON stores it, without -0 and Infinity. */
const asStored = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

const UNIT = 'unit.'
const CONFIG = 'config.'

const unitOf = (name: string, { units }: State) =>
  name.startsWith(UNIT) ? ownValue(units.present, name.slice(UNIT.length)) : undefined

/** Tells if a part has its place in a memory. The databag of a unit goes with the unit. */
const isThere = (name: string, state: State): boolean => !name.startsWith(UNIT) || unitOf(name, state) !== undefined

const partsOf = ({ config = {}, settings, databag, units }: State): ReadonlyMap<string, unknown> =>
  new Map<string, unknown>([
    ...Object.entries(config).flatMap(([key, value]) =>
      NEVER_SLOWED.has(key) ? [] : [[CONFIG + key, value] as const],
    ),
    ...Object.entries({ settings, databag }),
    ...Object.entries(units.present).map(([uid, unit]) => [UNIT + uid, unit.databag] as const),
  ])

const withPart = (state: State, name: string, value: unknown): State => {
  if (partsOf(state).get(name) === value) return state
  const unit = unitOf(name, state)
  if (unit) {
    const present = { ...state.units.present, [name.slice(UNIT.length)]: defined({ ...unit, databag: value }) }
    return { ...state, units: { ...state.units, present: present as Units['present'] } }
  }
  if (!name.startsWith(CONFIG)) return defined({ ...state, [name]: value })
  return { ...state, config: defined({ ...state.config, [name.slice(CONFIG.length)]: value }) }
}
