import * as z from 'zod'
import { digestOf } from '../../base/canonical-hash.ts'
import type { Teller } from '../../state/config.ts'
import { PodSpec } from '../pod-spec.ts'
import { type Churn, millisecondsOf, Recent, tooOften, withChange } from './config.ts'
import { type Difference, differences } from './difference.ts'
import { echoesIn, type RemoteDatabag } from './echoes.ts'
import { type PassingValues, passingIn } from './ephemeral-values.ts'
import { textsIn } from './string-leaves.ts'

/** A loop that was found, by itself or with another application. `holds` says what in the spec passes with a pod. */
const FoundLoop = z.strictObject({
  paths: z.array(z.string()),
  application: z.string().optional(),
  holds: z.array(z.string()),
  /** How often is too often. */
  rate: z.string().optional(),
  /** When the spec changed last: milliseconds since the epoch. */
  at: z.int(),
  /** A hash of the spec that was told last, and is held back. */
  told: z.string(),
})
type FoundLoop = z.infer<typeof FoundLoop>
type Found = Omit<FoundLoop, 'at' | 'told'>

const History = z.strictObject({
  /** The last spec that was accepted: what is to run. */
  spec: PodSpec,
  /** Nothing is in it any more: a program of before needs it to read the rest. */
  inputs: z.object({ rest: z.string(), relations: z.object({}) }).optional(),
  recent: Recent.optional(),
  loop: FoundLoop.optional(),
})

/** What is remembered of the specs an application was given. A loop that was found by rules of before is looked at anew. */
export const SpecHistory = z.preprocess((value) => (isOfBefore(value) ? undefined : value), History.optional())
export type SpecHistory = z.infer<typeof History>

const isOfBefore = (value: unknown): boolean => {
  const { loop } = (value ?? {}) as { loop?: object }
  return typeof loop === 'object' && loop !== null && !Object.hasOwn(loop, 'at')
}
/** A spec that arrives, who tells it, and what else is known. */
export type SpecObservation = {
  readonly spec: PodSpec
  readonly by: Teller
  readonly databags: readonly RemoteDatabag[]
  readonly known: PassingValues
  readonly churn: Churn
  readonly now: Date
}

/**
 * Takes a spec into account. What a person or a document tells is accepted, and ends a loop. What a unit tells is accepted as well, unless
 * it changes a place that has changed as often as `churn` allows; so is what echoes the databag of another application, whoever tells it.
 * Then what was accepted last stays: until a person tells another spec, or the place has been left alone for as long.
 */
export const observeSpec = (history: SpecHistory | undefined, observation: SpecObservation): SpecHistory => {
  const { by, databags, churn, now } = observation
  // as it will be read back: JSON has no -0 and no Infinity
  const spec: PodSpec = JSON.parse(JSON.stringify(observation.spec))
  const accepted = { spec, inputs: { rest: '', relations: {} } }
  if (history === undefined) return accepted
  const places = differences(history.spec, spec)
  if (places.length === 0) return by === 'unit' || history.loop === undefined ? history : accepted
  const echoes = echoesIn(places, databags)
  const counted = by === 'unit' ? places : places.filter(({ path }) => by === 'person' && echoes.has(path))
  const paths = counted.map(({ path }) => path)
  if (isHeld(history.loop, paths, churn, now))
    return { ...history, loop: heldOn(history.loop, history.loop, spec, now) }
  const recent = history.recent ?? {}
  const often = tooOften(recent, paths, churn, now.getTime())
  if (often.length === 0)
    return { ...accepted, ...(paths.length > 0 && { recent: withChange(recent, paths, churn, now.getTime()) }) }
  const found = foundLoop(often, counted, echoes, observation)
  return { spec: history.spec, inputs: accepted.inputs, recent, loop: heldOn(found, undefined, spec, now) }
}

/** The history once the API server has refused the spec: one that never ran has caused nothing, and does not count. */
export const withoutRun = ({ recent: _, ...history }: SpecHistory): SpecHistory => history

const isHeld = (loop: FoundLoop | undefined, paths: readonly string[], churn: Churn, now: Date): loop is FoundLoop =>
  loop !== undefined &&
  paths.some((path) => loop.paths.includes(path)) &&
  now.getTime() - loop.at <= millisecondsOf(churn)

/** The same spec again is no change: after a while it is the one that is meant. */
const heldOn = (loop: Found, before: FoundLoop | undefined, spec: PodSpec, now: Date): FoundLoop => {
  const told = digestOf(spec)
  return { ...loop, told, at: before?.told === told ? before.at : now.getTime() }
}

const MOST_PATHS = 10

const foundLoop = (
  often: readonly string[],
  counted: readonly Difference[],
  echoes: ReadonlyMap<string, string>,
  { known, churn }: SpecObservation,
): Found => {
  const paths = often.slice(0, MOST_PATHS)
  const [application] = paths.flatMap((path) => echoes.get(path) ?? [])
  const holds = counted
    .filter(({ path }) => paths.includes(path))
    .flatMap(({ path, after }) => {
      const [what] = textsIn(after).flatMap(({ text }) => passingIn(text, known) ?? [])
      return what === undefined ? [] : [`${path} holds ${what}`]
    })
  const rate = `${churn.changes} times within ${churn.minutes} minutes`
  return { paths, rate, ...(application !== undefined && { application }), holds }
}

/** Where the spec keeps changing, and why it is taken for a loop. */
export type Loop = { readonly paths: readonly string[]; readonly because: string }

/** The loop that keeps the last spec from being accepted, if there is one. */
export const loopOf = (history: SpecHistory | undefined): Loop | undefined => {
  if (history?.loop === undefined) return undefined
  const { paths, application, holds, rate = 'too often' } = history.loop
  const because =
    application === undefined
      ? `units changed it ${rate}, and again`
      : `it took over what ${application} says ${rate}, and again: this application and ${application} keep changing each other`
  return { paths, because: [because, ...holds].join('; ') }
}

/** A loop in a sentence for a person, with the way out. */
export const loopMessage = ({ paths, because }: Loop): string =>
  `the pod spec is not applied any more, and what runs stays: ${because}. It differs in ${paths.join(', ')}. ` +
  'Leave out what is new at each run, and name Services instead of addresses; ' +
  'a config that a person or a document tells, without a unit, is applied, and churn in the config allows more'
