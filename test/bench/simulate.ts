import type { Table } from './figures.ts'

/** What a step and a process cost, in milliseconds, as the other tables have it. */
export type Costs = {
  readonly cpu: number
  /** What a step waits for, the API server above all. */
  readonly wait: number
  readonly calls: number
  readonly writes: number
  /** From the request for a pod to its first answer: scheduling, the image, and the process. */
  readonly start: number
}

export type Setting = {
  /** Events a second, each of any of the applications. */
  readonly rate: number
  readonly seconds: number
  /** Events that a pod takes at a time. */
  readonly concurrency: number
}

export type Simulated = {
  readonly pods: number
  readonly mostPods: number
  /** The share of events that came while there was no pod. */
  readonly cold: number
  readonly median: number
  readonly late: number
}

/** Numbers between 0 and 1, the same each time. */
const createRandom = (seed = 1): (() => number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** How long Knative keeps a pod that has nothing to do, and how full it wants the others. */
const IDLE_MILLISECONDS = 60_000
const UTILIZATION = 0.7

type Pod = { readonly from: number; readonly ends: number[]; last: number }

/**
 * One service of pods with a core each, and a broker before it: an event goes to the pod with the least to do, or waits for the first that is
 * free; there are as many pods as the events in flight ask for.
 */
export const simulate = ({ rate, seconds, concurrency }: Setting, { cpu, wait, start }: Costs): Simulated => {
  const random = createRandom()
  const latencies: number[] = []
  let pods: Pod[] = []
  let [cold, alive, most] = [0, 0, 0]
  let now = 0
  for (;;) {
    const gap = (-Math.log(1 - random()) * 1000) / rate
    for (const { last } of pods) alive += Math.max(0, Math.min(gap, last + IDLE_MILLISECONDS - now))
    now += gap
    if (now > seconds * 1000) break
    pods = podsLeft(pods, now)
    if (pods.length === 0) cold += 1
    const inFlight = pods.reduce((sum, { ends }) => sum + ends.length, 1)
    if (inFlight > pods.length * concurrency * UTILIZATION) pods.push({ from: now + start, ends: [], last: now })
    most = Math.max(most, pods.length)
    const pod = pods.toSorted((one, other) => freeAt(one, concurrency, now) - freeAt(other, concurrency, now))[0] as Pod
    const begins = freeAt(pod, concurrency, now)
    const beside = pod.ends.filter((end) => end > begins).length
    const end = begins + wait + cpu * (1 + beside)
    pod.ends.push(end)
    pod.ends.sort((one, other) => one - other)
    pod.last = Math.max(pod.last, end)
    latencies.push(end - now)
  }
  latencies.sort((one, other) => one - other)
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? 0
  return {
    pods: alive / (seconds * 1000),
    mostPods: most,
    cold: cold / Math.max(1, latencies.length),
    median: at(0.5),
    late: at(0.99),
  }
}

/** Those that have something to do, or had a moment ago, without what they have done. */
const podsLeft = (pods: readonly Pod[], now: number): Pod[] =>
  pods
    .map((pod) => ({ ...pod, ends: pod.ends.filter((end) => end > now) }))
    .filter(({ last, ends }) => ends.length > 0 || now - last < IDLE_MILLISECONDS)

/** When a pod can begin one more event. */
const freeAt = ({ from, ends }: Pod, concurrency: number, now: number): number => {
  const busy = ends.length - concurrency
  return Math.max(now, from, busy >= 0 ? (ends[busy] ?? now) : now)
}

const HOUR = 3_600

/** Rates and concurrencies, an hour each. */
export const simulation = (costs: Costs): Table => ({
  title: 'Simulation: one service, an hour of events at random',
  note: `A step costs ${costs.cpu} ms of CPU and ${costs.wait} ms of waiting, ${costs.calls} calls of which ${costs.writes} write; a pod has one core and answers first after ${costs.start} ms.`,
  rows: [
    ...[0.001, 0.01, 0.1, 1, 10, 100].map((rate) => ({ rate, concurrency: 20 })),
    ...[1, 5, 80].map((concurrency) => ({ rate: 100, concurrency })),
  ].map(({ rate, concurrency }) => {
    const { pods, mostPods, cold, median, late } = simulate({ rate, concurrency, seconds: HOUR }, costs)
    return {
      'events/s': rate,
      concurrency,
      'pods, mean': pods.toFixed(2),
      'pods, most': mostPods,
      'cold %': (100 * cold).toFixed(1),
      'median ms': Math.round(median),
      '99 % ms': Math.round(late),
      'calls/s': (rate * costs.calls).toFixed(2),
      'writes/s': (rate * costs.writes).toFixed(2),
    }
  }),
})
