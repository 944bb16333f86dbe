import fc from 'fast-check'
import { expect } from 'vitest'
import { createLog } from '../../src/platform/base/log.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createWorld, isWrite, NAMESPACE, service, type World, workload } from '../helpers/world.ts'

/** FUZZ is a factor: 10 for ten times as many. */
const casesOf = (whole: number): number => Math.ceil(whole * Number(process.env.FUZZ ?? 1))

/** Runs the cases, says how many and from which seed, and how one that failed comes again. */
export const fuzz = async <T>(
  what: string,
  whole: number,
  cases: fc.Arbitrary<T>,
  check: (one: T) => Promise<void>,
): Promise<void> => {
  const { seed = 1 } = fc.readConfigureGlobal() ?? {}
  const numRuns = casesOf(whole)
  process.stdout.write(`fuzz: ${numRuns} cases of ${what}, FAST_CHECK_SEED=${seed}\n`)
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const started = process.cpuUsage()
      await check(one)
      const { user, system } = process.cpuUsage(started)
      expect(user + system, 'microseconds of CPU time').toBeLessThan(LONGEST_MICROSECONDS)
      expect(inherited()).toEqual(INHERITED)
    }),
    { numRuns },
  )
}

/** A pattern that backtracks takes minutes, and all else a hundredth of this, on a busy machine as well. */
const LONGEST_MICROSECONDS = 5_000_000

/** What every object has: nothing may be added. */
const inherited = () =>
  [Object.prototype, Array.prototype, Function.prototype, String.prototype].map((one) => Reflect.ownKeys(one).length)
const INHERITED = inherited()

/** Whoever sends it trusts that nobody reads it in a log. */
export const SECRET = 'c2VjcmV0LXRva2Vu'

const others = ['beacon', 'db'].flatMap((name) => [workload('StatefulSet', name), service(name)])

/** A world whose log is written as it is in a pod. */
export const createFuzzed = (objects: readonly KubernetesObject[] = []): World & { lines: string[] } => {
  const lines: string[] = []
  const log = createLog('info', (line) => void lines.push(line))
  return Object.assign(createWorld([workload(), service(), ...others, ...objects], { log }), { lines })
}

/** Gives a world for each case: the one of the case before, where that wrote nothing. */
export const untouched = (): (() => ReturnType<typeof createFuzzed>) => {
  let world = createFuzzed()
  return () => {
    if (world.calls.some(isWrite)) world = createFuzzed()
    world.lines.length = 0
    world.calls.length = 0
    return world
  }
}

export const post = (
  { app }: Pick<World, 'app'>,
  headers: Record<string, string>,
  body: string | Uint8Array,
  path = '/',
): Promise<Response> =>
  Promise.resolve(
    app.request(path, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${SECRET}`, cookie: SECRET },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    }),
  )

export const EVENT = { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/fuzz', 'content-type': 'application/json' }

export const tell = (world: Pick<World, 'app'>, name: string, data: unknown): Promise<Response> =>
  post(world, { ...EVENT, 'ce-type': `dev.meshstep.${name}.v1` }, JSON.stringify(data))

/** The answer is one of these, short enough where it is a failure, and neither it nor the log says what nobody should read. */
export const expectAnswer = async (
  response: Response,
  statuses: readonly number[],
  lines: readonly string[],
): Promise<void> => {
  const body = await response.text()
  expect(statuses, `${response.status} ${body.slice(0, 1_000)}`).toContain(response.status)
  if (response.status !== 200) {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(768)
    expect(JSON.parse(body), body).not.toMatchObject({ reason: 'defect' })
  }
  for (const line of lines) {
    expect(line.indexOf('\n'), line).toBe(line.length - 1)
    expect(line).not.toContain(SECRET)
    expect(line.length).toBeLessThan(LONGEST_LINE)
  }
  expect(body).not.toContain(SECRET)
}

/** Whoever sends much must not fill the log with it. */
const LONGEST_LINE = 64_000

export const configMap = (
  name: string,
  data: Record<string, string>,
  labels: Record<string, string>,
): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: NAMESPACE, labels },
  data,
})

/** What a sender is told: it was taken, or is wrong. Never that something broke. */
export const FAIR: readonly number[] = [200, 400, 403, 404, 413, 415]
