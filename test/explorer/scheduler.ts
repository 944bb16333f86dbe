import { setImmediate as settled } from 'node:timers/promises'
import type { TransportAnswer, TransportRequest } from '../../src/kubernetes/client.ts'

/** What a schedule runs: it asks the gate before each of its calls. */
export type Actor = { name: string; run(gate: Gate): Promise<void> }

/** Resolves when the schedule lets the call happen; never, after a crash. */
export type Gate = (call: () => TransportAnswer, request: TransportRequest) => Promise<TransportAnswer>

export type Bounds = {
  /** How often a schedule turns from an actor that could go on to another. */
  preemptions: number
  /** How many actors die, each before one of its calls, and are started again. */
  crashes: number
}

/** One decision: which actor makes its next call, or dies instead of making it. */
type Option = { actor: string; crash: boolean; preemptions: number; crashes: number }

type Running = { actor: Actor; pending: { proceed(): void; describe: string }[]; isDone: boolean; failure?: unknown }

export type Run = {
  /** At each decision, the options that the bounds allow; the one taken is first. */
  options: readonly (readonly Option[])[]
  /** The calls in the order in which they were made, and the crashes. */
  trace: readonly string[]
  failures: readonly unknown[]
}

/**
 * Runs the actors on one schedule: `path` says which option to take at each decision, the first one after its end. Between two calls an
 * actor runs undisturbed, as nothing it does there is seen by others.
 */
export const runSchedule = async (actors: readonly Actor[], path: readonly number[], bounds: Bounds): Promise<Run> => {
  const running = new Map<string, Running>()
  const trace: string[] = []
  const taken: Option[][] = []
  let spent: Bounds = { preemptions: 0, crashes: 0 }
  let current: string | undefined

  const start = (actor: Actor): void => {
    const self: Running = { actor, pending: [], isDone: false }
    running.set(actor.name, self)
    const gate: Gate = (call, { method, path: target }) =>
      new Promise((resolve) => {
        const describe = `${actor.name}: ${method} ${target}`
        self.pending.push({ describe, proceed: () => resolve(call()) })
      })
    actor.run(gate).then(
      () => {
        self.isDone = true
      },
      (failure: unknown) => {
        self.isDone = true
        self.failure = failure
      },
    )
  }

  const optionsNow = (): Option[] => {
    const ready = [...running.values()].filter(({ pending }) => pending.length > 0).map(({ actor }) => actor.name)
    const first = ready.filter((name) => name === current)
    const others = ready.filter((name) => name !== current)
    const moves = [...first, ...others].map((actor) => {
      const isPreemption = first.length > 0 && actor !== current
      return { actor, crash: false, preemptions: spent.preemptions + (isPreemption ? 1 : 0), crashes: spent.crashes }
    })
    const crashes = first.map((actor) => ({
      actor,
      crash: true,
      preemptions: spent.preemptions,
      crashes: spent.crashes + 1,
    }))
    return [...moves, ...crashes].filter(
      (option) => option.preemptions <= bounds.preemptions && option.crashes <= bounds.crashes,
    )
  }

  for (const actor of actors) start(actor)
  for (;;) {
    await settled()
    const options = optionsNow()
    if (options.length === 0) break
    const option = options[path[taken.length] ?? 0]
    if (option === undefined) throw new Error('the actors are not deterministic')
    taken.push(options)
    spent = { preemptions: option.preemptions, crashes: option.crashes }
    current = option.actor
    const self = running.get(option.actor)
    if (option.crash && self) {
      trace.push(`${option.actor}: dies`)
      running.delete(option.actor)
      start({ ...self.actor, name: `${option.actor}'` })
      current = undefined
      continue
    }
    const call = self?.pending.shift()
    trace.push(call?.describe ?? '')
    call?.proceed()
  }
  const stuck = [...running.values()]
    .filter(({ isDone }) => !isDone)
    .map(({ actor }) => new Error(`${actor.name} does not end`))
  const failed = [...running.values()].map(({ failure }) => failure).filter((failure) => failure !== undefined)
  return { options: taken, trace, failures: [...stuck, ...failed] }
}

/** Every schedule within the bounds, one after another: `run` is given the path of each, and answers with what it met. */
export const explore = async (run: (path: readonly number[]) => Promise<Run>): Promise<number> => {
  const paths: number[][] = [[]]
  let count = 0
  for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
    const { options } = await run(path)
    count += 1
    for (let point = options.length - 1; point >= path.length; point -= 1)
      for (let choice = 1; choice < (options[point]?.length ?? 0); choice += 1)
        paths.push([...path, ...Array.from({ length: point - path.length }, () => 0), choice])
  }
  return count
}
