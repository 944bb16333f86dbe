import * as z from 'zod'
import { type Difference, differences } from './difference.ts'
import { changeOf, hashesOf, type InputChange, InputHashes, type SpecInputs } from './inputs.ts'
import { type PassingValues, passingIn } from './passing.ts'
import { PodSpec } from './pod-spec.ts'
import { continued, Run } from './streaks.ts'
import { suspectsIn } from './suspects.ts'
import { textsIn } from './texts.ts'

/** A loop that was found, by itself or with another application. `holds` says what in the spec passes with a pod. */
const FoundLoop = z.strictObject({
  paths: z.array(z.string()),
  application: z.string().optional(),
  holds: z.array(z.string()),
})
type FoundLoop = z.infer<typeof FoundLoop>

/** What is remembered of the specs an application was given. */
export const SpecHistory = z.strictObject({
  /** The last spec that was accepted: what is to run. */
  spec: PodSpec,
  /** What it was accepted with. */
  inputs: InputHashes,
  run: Run.optional(),
  loop: FoundLoop.optional(),
})
export type SpecHistory = z.infer<typeof SpecHistory>

/** A spec that arrives, and what it may depend on as far as the memory knows. */
export type SpecObservation = {
  readonly spec: PodSpec
  readonly inputs: SpecInputs
  readonly known: PassingValues
  readonly now: Date
}

/** The change that completes a loop. It is not accepted any more. */
const TIMES_OF_A_LOOP = 3

/**
 * Takes a spec into account. The same one again neither counts nor resets. A third change in a row, in the same place, while nothing else
 * changed, is a loop; so is one where each time only one application's databags had changed, soon after the change before, and the spec
 * took over values of theirs. In a loop no spec is accepted until something changes that is no part of it: a new revision is enough.
 */
export const observeSpec = (
  history: SpecHistory | undefined,
  { spec: given, inputs: current, known, now }: SpecObservation,
): SpecHistory => {
  // as it will be read back: JSON has no -0 and no Infinity
  const spec: PodSpec = JSON.parse(JSON.stringify(given))
  const accepted = { spec, inputs: hashesOf(current) }
  if (history === undefined) return accepted
  const places = differences(history.spec, spec)
  const change = changeOf(history.inputs, accepted.inputs)
  if (places.length === 0 || isHeld(history.loop, change)) return history
  const suspects = suspectsIn(places, change, current)
  if (suspects.length === 0) return accepted
  const application = typeof change === 'object' ? change.application : undefined
  const run = continued(history.run, { application, paths: suspects.map(({ path }) => path), now })
  const paths = run.streaks.filter(({ times }) => times >= TIMES_OF_A_LOOP).map(({ path }) => path)
  if (paths.length === 0) return { ...accepted, run }
  return { spec: history.spec, inputs: history.inputs, loop: foundLoop(run, paths, suspects, known) }
}

/** The history once the API server has refused the spec: one that never ran has caused nothing, and does not count. */
export const withoutRun = ({ run: _, ...history }: SpecHistory): SpecHistory => history

/** Whether the change is part of the loop. */
const isHeld = (loop: FoundLoop | undefined, change: InputChange): boolean => {
  if (loop === undefined || change === 'something') return false
  return change === 'nothing' || change.application === loop.application
}

const MOST_PATHS = 10

const foundLoop = (
  { application }: Run,
  paths: readonly string[],
  suspects: readonly Difference[],
  known: PassingValues,
): FoundLoop => {
  const told = paths.slice(0, MOST_PATHS)
  const holds = suspects
    .filter(({ path }) => told.includes(path))
    .flatMap(({ path, after }) => {
      const [what] = textsIn(after).flatMap(({ text }) => passingIn(text, known) ?? [])
      return what === undefined ? [] : [`${path} holds ${what}`]
    })
  return { paths: told, ...(application !== undefined && { application }), holds }
}

/** Where the spec keeps changing, and why it is taken for a loop. */
export type Loop = { readonly paths: readonly string[]; readonly because: string }

/** The loop that keeps the last spec from being accepted, if there is one. */
export const loopOf = (history: SpecHistory | undefined): Loop | undefined => {
  if (history?.loop === undefined) return undefined
  const { paths, application, holds } = history.loop
  const because =
    application === undefined
      ? 'the spec changed three times in a row while nothing that it may depend on did'
      : `three times in a row the spec took over what ${application} had just changed: this application and ${application} keep changing each other`
  return { paths, because: [because, ...holds].join('; ') }
}

/** A loop in a sentence for a person, with the way out. */
export const loopMessage = ({ paths, because }: Loop): string =>
  `the pod spec is not applied any more, and what runs stays: ${because}. It differs in ${paths.join(', ')}. ` +
  'Leave out what is new at each run, and name Services instead of addresses; set workload.revision to another value to have the spec applied'
