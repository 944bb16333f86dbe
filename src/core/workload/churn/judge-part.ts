import * as z from 'zod'
import { canonicalHash } from '../../../platform/base/canonical-hash.ts'
import { defined } from '../../../platform/base/own-value.ts'
import type { SpecSource } from '../../state/config.ts'
import { differences, placeOf, type SpecDifference } from './difference.ts'
import { findEchoes, hashDatabags, type RemoteDatabag } from './echoes.ts'
import type { EphemeralValues } from './ephemeral-values.ts'
import { describeChurn, Held } from './evidence.ts'
import { type Churn, millisecondsOf, Recent, tooOften, withChange } from './limit.ts'

/** The recent changes that units made to one part of the config, and the held-back value. */
export const PartChurn = z.strictObject({
  /** The recent changes of each place. */
  recent: Recent,
  /** The recent changes of the part as a whole. */
  whole: Recent,
  /** Hashes of the databags that values were copied from, by application. */
  copied: z.record(z.string(), z.string()).optional(),
  held: Held.optional(),
})
export type PartChurn = z.infer<typeof PartChurn>

/** The sender of a config, and the context to judge it. */
export type Observation = {
  readonly by: SpecSource
  readonly databags: readonly RemoteDatabag[]
  readonly known: EphemeralValues
  readonly churn: Churn
  readonly now: Date
}

/** A part of the config, by its key: the effective value, and the one that a unit sent. */
export type PartChange = { readonly key: string; readonly before: unknown; readonly told: unknown }

export type JudgedPart = { readonly isHeld: boolean; readonly churn: PartChurn | undefined }

/**
 * Accepts a unit's value of a part, unless it changes a place that units have changed as often as `churn` allows, or the part has changed
 * twice as often anywhere. A held-back value stays held back until units leave the place alone, or send the same value for the limit's
 * period.
 */
export const judgePart = (history: PartChurn | undefined, part: PartChange, observation: Observation): JudgedPart => {
  const { churn, now } = observation
  const { held, ...counts } = history ?? NO_CHANGES
  const isOver = held !== undefined && now.getTime() - held.at > millisecondsOf(churn)
  const stillHeld = held && !isOver ? { ...counts, held: toldAgain(held, part.told, now.getTime()) } : undefined
  const places = differences(counted(part.before), counted(part.told), `.${part.key}`)
  if (places.length === 0) return { isHeld: false, churn: stillHeld ?? (held ? counts : history) }
  // a part that changes at another place each time has no place that would recur
  const change = { part, places, paths: [...new Set(places.map(placeOf))], whole: [`${part.key} as a whole`] }
  const isAgain = [...change.paths, ...change.whole].some((path) => held?.paths.includes(path))
  if (isAgain && stillHeld) return { isHeld: true, churn: stillHeld }
  // a place that was held back so long may change once, but not as often again
  const released = isAgain && held ? exhausted(held.paths, churn, now.getTime()) : {}
  return judgeChange({ ...counts, recent: { ...counts.recent, ...released } }, change, observation, isAgain)
}

type Change = {
  readonly part: PartChange
  readonly places: readonly SpecDifference[]
  readonly paths: readonly string[]
  readonly whole: readonly string[]
}

const judgeChange = (
  counts: PartChurn,
  { part, places, paths, whole }: Change,
  observation: Observation,
  isReleased: boolean,
): JudgedPart => {
  const { churn, databags } = observation
  const now = observation.now.getTime()
  const most = { ...churn, changes: 2 * churn.changes }
  const echoes = findEchoes(places, databags)
  const often = isReleased ? [] : tooOften(counts.recent, paths, churn, now)
  const restless = isReleased ? [] : tooOften(counts.whole, whole, most, now)
  if (often.length > 0 || restless.length > 0) {
    const [found, limit] = often.length > 0 ? [often, churn] : [restless, most]
    const evidence = describeChurn(found, limit.changes, places, { ...observation, echoes, copied: counts.copied })
    return { isHeld: true, churn: { ...counts, held: { ...evidence, told: canonicalHash(part.told), at: now } } }
  }
  return {
    isHeld: false,
    churn: defined({
      recent: withChange(counts.recent, paths, churn, now),
      whole: withChange(counts.whole, whole, most, now),
      copied: withCopied(counts.copied, databags, [...echoes.values()]),
    }),
  }
}

const NO_CHANGES: PartChurn = { recent: {}, whole: {} }

/** Leaves out the revision, which is only for readers of the config. */
const counted = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('podSpec' in value)) return value
  const { revision: _, ...others } = value as { revision?: unknown }
  return others
}

/** Records a held-back value that was sent again. The same value is no change, so it is accepted after a while. */
const toldAgain = ({ keys: _, ...held }: Held, value: unknown, now: number): Held => {
  const told = canonicalHash(value)
  return held.told === told ? held : { ...held, told, at: now }
}

/** Builds changes of places that have just reached the limit. */
const exhausted = (paths: readonly string[], { changes }: Churn, now: number): Recent =>
  Object.fromEntries(paths.map((path) => [path, Array<number>(changes).fill(now)]))

/** Records the databags that values were copied from. Only those of applications that are still related matter. */
const withCopied = (
  copied: PartChurn['copied'],
  databags: readonly RemoteDatabag[],
  sources: readonly string[],
): PartChurn['copied'] => {
  const related = Object.entries({ ...copied, ...hashDatabags(databags, sources) }).filter(([name]) =>
    databags.some(({ application }) => application === name),
  )
  return related.length === 0 ? undefined : Object.fromEntries(related)
}
