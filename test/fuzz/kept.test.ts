import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import type { World } from '../helpers/world.ts'
import { EVENTS } from './corpus.ts'
import { jsonOf, mutated, text, value } from './hostile.ts'
import { createFuzzed, expectAnswer, FAIR, fuzz, tell } from './world.ts'

/** Memories as they are after each event of the corpus. */
const memoriesAfterEach = async (): Promise<KubernetesObject[]> => {
  const found: KubernetesObject[] = []
  for (const { name, data } of EVENTS) {
    const world = createFuzzed()
    await tell(world, name, data)
    found.push(...memoriesIn(world))
  }
  return found
}

const memoriesIn = (world: World): KubernetesObject[] =>
  world.api.objects().filter(({ metadata }) => metadata.name === 'juju-service-mesh-web-labels')

const corpus = await memoriesAfterEach()

/** The API server keeps no more. */
const fits = (data: Record<string, string>): boolean => Object.values(data).join('').length < 1_000_000

const memory = fc
  .constantFrom(...corpus)
  .chain(({ data = {} }) => {
    const [state, labels] = [data.state, data.labels].map((one) => JSON.parse(one ?? '{}') as unknown)
    return fc.record({
      state: fc.oneof({ weight: 9, arbitrary: jsonOf(mutated([state])) }, text),
      labels: fc.oneof({ weight: 9, arbitrary: fc.constant(data.labels ?? '{}') }, jsonOf(mutated([labels, {}]))),
    })
  })
  .filter(fits)

const stored = (name: string, data: Record<string, string>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: `juju-service-mesh-${name}-labels`,
    namespace: 'shop',
    labels: { 'app.kubernetes.io/managed-by': 'meshstep', 'meshstep.dev/application': name },
  },
  data,
})

/** Of the memory itself it may be told that somebody has to repair it; it is left as it is then. */
test('whatever a memory holds, a step goes by it or says how to repair it', async () => {
  await fuzz('memories', 1_000, memory, async (data) => {
    const world = createFuzzed([stored('web', data)])
    const answer = await tell(world, 'resync', { namespace: 'shop', application: 'web' })
    if (answer.status === 500) expect(memoriesIn(world)[0]?.data).toEqual(data)
    await expectAnswer(answer, [200, 500], world.lines)
    await expectAnswer(await world.app.request('/applications/shop/web'), [...FAIR, 500], world.lines)
    await expectAnswer(await tell(world, 'resync', { namespace: 'shop' }), [200], world.lines)
  })
})

test('whatever the memory of another application holds, a step of this one goes on', async () => {
  const told = EVENTS.filter(({ name }) => name === 'relation-changed')
  await fuzz('memories of others', 500, fc.tuple(fc.constantFrom(...told), memory), async ([{ data }, held]) => {
    const { remote } = data as { remote: { application: string; namespace?: string } }
    const world = createFuzzed(remote.namespace ? [] : [stored(remote.application, held)])
    await expectAnswer(await tell(world, 'relation-changed', data), [200], world.lines)
    await expectAnswer(await tell(world, 'resync', { namespace: 'shop', application: 'web' }), [200], world.lines)
  })
})

/** An answer of the API server, or of what stands before it. */
const answer = fc.record({
  at: fc.nat({ max: 12 }),
  status: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    fc.constantFrom(...[200, 201, 204, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504, 599]),
  ),
  headers: fc.dictionary(fc.constantFrom('retry-after', 'content-type', 'warning'), fc.oneof(text, fc.constant('1')), {
    maxKeys: 1,
  }),
  body: fc.option(fc.oneof(text, jsonOf(value), fc.constant(undefined)), { nil: undefined }),
  cut: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
})

test('whatever is answered in place of the API server, the event is answered, and the next one repairs', async () => {
  const cases = fc.tuple(fc.constantFrom(...EVENTS), fc.array(answer, { minLength: 1, maxLength: 4 }))
  await fuzz('API answers', 1_000, cases, async ([{ name, data }, answers]) => {
    const world = createFuzzed()
    let calls = 0
    world.intercept = (request) => {
      const odd = answers.find(({ at }) => at === calls)
      calls += 1
      if (!odd) return undefined
      const real = world.api.handle(request)
      const body = odd.body ?? real.body
      return {
        status: odd.status ?? real.status,
        headers: odd.headers,
        body: body.slice(0, Math.ceil(odd.cut * body.length)),
      }
    }
    await expectAnswer(await tell(world, name, data), [...FAIR, 429, 500, 503], world.lines)
    world.intercept = undefined
    await expectAnswer(await tell(world, name, data), [200], world.lines)
  })
})
