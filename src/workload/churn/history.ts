import * as z from 'zod'
import { canonicalHash } from '../../base/canonical-hash.ts'
import type { SpecSource } from '../../state/config.ts'
import { PodSpec } from '../pod-spec.ts'
import { type Churn, millisecondsOf, Recent, tooOften, withChange } from './config.ts'
import { differences, type SpecDifference } from './difference.ts'
import { findEchoes, type RemoteDatabag } from './echoes.ts'
import { describeEphemeral, type EphemeralValues } from './ephemeral-values.ts'
import { stringLeaves } from './string-leaves.ts'

/** Churn that was found, of the application alone or with another one. `holds` lists ephemeral values in the spec. */
const StoredChurn = z.strictObject({
  paths: z.array(z.string()),
  application: z.string().optional(),
  holds: z.array(z.string()),
  /** The exceeded limit. */
  rate: z.string().optional(),
  /** The last change of the spec: milliseconds since the epoch. */
  at: z.int(),
  /** A hash of the last spec, which is held back. */
  told: z.string(),
})
type StoredChurn = z.infer<typeof StoredChurn>
type ChurnEvidence = Omit<StoredChurn, 'at' | 'told'>

const History = z.strictObject({
  /** The last accepted spec, which is to run. */
  spec: PodSpec,
  /** Always empty: earlier versions of this program need it to read the rest. */
  inputs: z.object({ rest: z.string(), relations: z.object({}) }).optional(),
  recent: Recent.optional(),
  loop: StoredChurn.optional(),
})

/** The history of an application's specs. Churn found by the rules of earlier versions is judged anew. */
export const SpecHistory = z.preprocess((value) => (isOfBefore(value) ? undefined : value), History.optional())
export type SpecHistory = z.infer<typeof History>

const isOfBefore = (value: unknown): boolean => {
  const { loop } = (value ?? {}) as { loop?: object }
  return typeof loop === 'object' && loop !== null && !Object.hasOwn(loop, 'at')
}
/** A spec that arrives, its sender, and the context to judge it. */
export type SpecObservation = {
  readonly spec: PodSpec
  readonly by: SpecSource
  readonly databags: readonly RemoteDatabag[]
  readonly known: EphemeralValues
  readonly churn: Churn
  readonly now: Date
}

/**
 * Accepts a spec, or holds it back. A spec of a person or a document is accepted, and ends churn. So is that of a unit, unless it changes
 * a place that has changed as often as `churn` allows; copies of another application's databag count whoever sends them. A held-back spec
 * leaves the last accepted one in effect, until a person sends another, or the place is left alone for the limit's period.
 */
export const observeSpec = (history: SpecHistory | undefined, observation: SpecObservation): SpecHistory => {
  const { by, databags, churn, now } = observation
  // normalized as JSON stores it, which has no -0 and no Infinity
  const spec: PodSpec = JSON.parse(JSON.stringify(observation.spec))
  const accepted = { spec, inputs: { rest: '', relations: {} } }
  if (history === undefined) return accepted
  const places = differences(history.spec, spec)
  if (places.length === 0) return by === 'unit' || history.loop === undefined ? history : accepted
  const echoes = findEchoes(places, databags)
  const counted = by === 'unit' ? places : places.filter(({ path }) => by === 'person' && echoes.has(path))
  const paths = counted.map(({ path }) => path)
  if (isHeld(history.loop, paths, churn, now))
    return { ...history, loop: heldOn(history.loop, history.loop, spec, now) }
  const recent = history.recent ?? {}
  const often = tooOften(recent, paths, churn, now.getTime())
  if (often.length === 0)
    return { ...accepted, ...(paths.length > 0 && { recent: withChange(recent, paths, churn, now.getTime()) }) }
  const found = describeChurn(often, counted, echoes, observation)
  return { spec: history.spec, inputs: accepted.inputs, recent, loop: heldOn(found, undefined, spec, now) }
}

/** Forgets the changes once the API server refused the spec: it never ran, and so caused nothing. */
export const withoutRun = ({ recent: _, ...history }: SpecHistory): SpecHistory => history

const isHeld = (
  loop: StoredChurn | undefined,
  paths: readonly string[],
  churn: Churn,
  now: Date,
): loop is StoredChurn =>
  loop !== undefined &&
  paths.some((path) => loop.paths.includes(path)) &&
  now.getTime() - loop.at <= millisecondsOf(churn)

/** The same spec again is no change: after a while it is accepted. */
const heldOn = (loop: ChurnEvidence, before: StoredChurn | undefined, spec: PodSpec, now: Date): StoredChurn => {
  const told = canonicalHash(spec)
  return { ...loop, told, at: before?.told === told ? before.at : now.getTime() }
}

const MOST_PATHS = 10

const describeChurn = (
  often: readonly string[],
  counted: readonly SpecDifference[],
  echoes: ReadonlyMap<string, string>,
  { known, churn }: SpecObservation,
): ChurnEvidence => {
  const paths = often.slice(0, MOST_PATHS)
  const [application] = paths.flatMap((path) => echoes.get(path) ?? [])
  const holds = counted
    .filter(({ path }) => paths.includes(path))
    .flatMap(({ path, after }) => {
      const [what] = stringLeaves(after).flatMap(({ text }) => describeEphemeral(text, known) ?? [])
      return what === undefined ? [] : [`${path} holds ${what}`]
    })
  const rate = `${churn.changes} times within ${churn.minutes} minutes`
  return { paths, rate, ...(application !== undefined && { application }), holds }
}

/** The places of the spec that keep changing, and the evidence for churn. */
export type Churning = { readonly paths: readonly string[]; readonly because: string }

/** The churn that holds back the spec, if any. */
export const findChurn = (history: SpecHistory | undefined): Churning | undefined => {
  if (history?.loop === undefined) return undefined
  const { paths, application, holds, rate = 'too often' } = history.loop
  const because =
    application === undefined
      ? `units changed it ${rate}, and again`
      : `it copied data of ${application} ${rate}, and again: this application and ${application} keep changing each other`
  return { paths, because: [because, ...holds].join('; ') }
}

/** Describes churn to a person, with the remedy. */
export const churnMessage = ({ paths, because }: Churning): string =>
  `the pod spec is not applied any more, and what runs stays: ${because}. It differs in ${paths.join(', ')}. ` +
  'Leave out what is new at each run, and name Services instead of addresses; ' +
  'the config of a person or a document, sent without a unit, is applied, and churn in the config allows more'
