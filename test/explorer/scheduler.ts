import { setImmediate as settled } from 'node:timers/promises'
import type { TransportAnswer, TransportRequest } from '../../src/platform/kubernetes/client.ts'

/** What a schedule runs: it asks the gate before each of its calls. */
export type Actor = { name: string; run(gate: Gate): Promise<void> }

/** Resolves when the schedule lets the call happen; never, after a crash. */
export type Gate = (call: () => TransportAnswer, request: TransportRequest) => Promise<TransportAnswer>

export type Bounds = {
  /** How often a schedule turns from an actor that could go on to another. */
  preemptions: number
  /** How many actors die, each before one of its calls, and are started again. */
  crashes: number
  /** How many calls are made, but their answer does not arrive. */
  losses: number
}

/** One decision: whose turn it is, what becomes of its next call, and what has been spent of the bounds by then. */
type Option = { actor: string; event: 'call' | 'loss' | 'crash'; spent: Bounds }

type Pending = { describe: string; proceed(isLost: boolean): void }

type Running = { actor: Actor; pending: Pending[]; isDone: boolean; failure?: unknown }

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
  let spent: Bounds = { preemptions: 0, crashes: 0, losses: 0 }
  let current: string | undefined

  const start = (actor: Actor): void => {
    const self: Running = { actor, pending: [], isDone: false }
    running.set(actor.name, self)
    const gate: Gate = (call, { method, path: target }) =>
      new Promise((resolve, reject) => {
        const proceed = (isLost: boolean) => {
          const answer = call()
          if (isLost) reject(new Error('the connection was lost'))
          else resolve(answer)
        }
        self.pending.push({ describe: `${actor.name}: ${method} ${target}`, proceed })
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
    const calls = [...first, ...others].map((actor): Option => {
      const isPreemption = first.length > 0 && actor !== current
      return { actor, event: 'call', spent: { ...spent, preemptions: spent.preemptions + (isPreemption ? 1 : 0) } }
    })
    const losses = first.map(
      (actor): Option => ({ actor, event: 'loss', spent: { ...spent, losses: spent.losses + 1 } }),
    )
    const crashes = first.map(
      (actor): Option => ({ actor, event: 'crash', spent: { ...spent, crashes: spent.crashes + 1 } }),
    )
    return [...calls, ...losses, ...crashes].filter((option) => isWithin(option.spent, bounds))
  }

  for (const actor of actors) start(actor)
  for (;;) {
    await settled()
    const options = optionsNow()
    if (options.length === 0) break
    const option = options[path[taken.length] ?? 0]
    if (option === undefined) throw new Error('the actors are not deterministic')
    taken.push(options)
    spent = option.spent
    current = option.actor
    const self = running.get(option.actor)
    if (option.event === 'crash' && self) {
      trace.push(`${option.actor}: dies`)
      running.delete(option.actor)
      start({ ...self.actor, name: `${option.actor}'` })
      current = undefined
      continue
    }
    const call = self?.pending.shift()
    const isLost = option.event === 'loss'
    trace.push(`${call?.describe}${isLost ? ' (its answer is lost)' : ''}`)
    call?.proceed(isLost)
  }
  const stuck = [...running.values()]
    .filter(({ isDone }) => !isDone)
    .map(({ actor }) => new Error(`${actor.name} does not end`))
  const failed = [...running.values()].map(({ failure }) => failure).filter((failure) => failure !== undefined)
  return { options: taken, trace, failures: [...stuck, ...failed] }
}

const isWithin = (spent: Bounds, bounds: Bounds): boolean =>
  spent.preemptions <= bounds.preemptions && spent.crashes <= bounds.crashes && spent.losses <= bounds.losses

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
