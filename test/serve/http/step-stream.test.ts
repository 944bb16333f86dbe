import { describe, expect, test, vi } from 'vitest'
import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import type { DoneStep } from '../../../src/core/events/handle.ts'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { createKubernetes, type TransportAnswer } from '../../../src/platform/kubernetes/client.ts'
import { createStepStream } from '../../../src/serve/http/step-stream.ts'
import { fakeClock } from '../../helpers/clock.ts'

const step = (namespace: string, id = '1') =>
  ({ namespace, application: 'db', event: { id }, status: 'changed' }) as unknown as DoneStep

/** A stream of the steps of `shop` to one user, whose right and token can be taken away, and the API server's answer replaced. */
const createWatched = async (query: Record<string, string> = { namespace: 'shop' }) => {
  const tokens: Record<string, string> = { good: 'jane' }
  const world = { tokens, isAllowed: true, answer: undefined as TransportAnswer | undefined, calls: 0 }
  const api = createEmbeddedApi({
    ...{ tokens, audiences: ['meshstep'] },
    allows: (_, { namespace }) => world.isAllowed && namespace === 'shop',
  })
  const clock = fakeClock()
  const connect = (deadline: number) =>
    createKubernetes({
      transport: async (request) => {
        world.calls += 1
        return world.answer ?? api.handle(request)
      },
      clock,
      deadline,
    })
  const authenticate = createAuthenticate({ audience: 'meshstep', clock })
  const steps = createStepStream({ connect, authenticate, clock, timeoutMilliseconds: 1_000 })
  const open = () => steps.stream(new URLSearchParams(query), 'Bearer good')
  const reader = (await open()).body?.pipeThrough(new TextDecoderStream()).getReader()
  const next = async () => (await reader?.read())?.value
  expect(await next()).toBe(': steps follow\n\n')
  return { world, clock, steps, open, next }
}

const saying = (status: number, reason: string, message: RegExp) => ({
  ...{ status, reason },
  message: expect.stringMatching(message),
})

describe('a watcher of steps', () => {
  test.each<[string, (world: Awaited<ReturnType<typeof createWatched>>['world']) => void, object]>([
    [
      'who may not see them any more',
      (world) => {
        world.isAllowed = false
      },
      saying(403, 'unauthorized', /jane may not update applications\.meshstep\.dev shop\/\*/),
    ],
    ['whose token is not valid any more', ({ tokens }) => delete tokens.good, saying(401, 'unauthenticated', /token/)],
    [
      'of whom nobody knows whether they may',
      (world) => {
        world.answer = { status: 503, headers: {}, body: 'no' }
      },
      saying(503, 'unavailable', /./),
    ],
  ])('%s gets none of what follows, and is told why the stream ends', async (_, take, reason) => {
    const { world, clock, steps, next } = await createWatched()
    steps.publish(step('shop', 'seen'))
    expect(await next()).toContain('"id":"seen"')
    take(world)
    clock.advance(10_001)
    steps.publish(step('shop', 'hidden'))
    const [, event, data = ''] = /^event: (.*)\ndata: (.*)\n\n$/.exec((await next()) ?? '') ?? []
    expect([event, JSON.parse(data)]).toMatchObject(['end', reason])
    expect(await next()).toBeUndefined()
  })

  test('who waits for a step while the right goes gets none either', async () => {
    const { world, clock, steps, next } = await createWatched()
    const waited = next()
    world.isAllowed = false
    clock.advance(10_001)
    steps.publish(step('shop', 'hidden'))
    expect(await waited).toMatch(/^event: end\n/)
  })

  test('who has left room leaves it to others', async () => {
    const { world, clock, steps, open, next } = await createWatched()
    for (let others = 1; others < 15; others += 1) await open()
    await expect(open()).rejects.toMatchObject({ status: 429 })
    world.isAllowed = false
    clock.advance(10_001)
    steps.publish(step('shop', 'hidden'))
    await next()
    world.isAllowed = true
    await expect(open()).resolves.toBeDefined()
  })

  test('who still may costs no call within ten seconds, however many steps there are', async () => {
    const { world, clock, steps, next } = await createWatched()
    world.calls = 0
    for (const id of ['1', '2', '3']) {
      steps.publish(step('shop', id))
      expect(await next()).toContain(`"id":"${id}"`)
    }
    expect(world.calls).toBe(0)
    clock.advance(10_001)
    steps.publish(step('shop', '4'))
    expect(await next()).toContain('"id":"4"')
    expect(world.calls).toBe(2)
  })
})

describe('a watcher that names no namespace', () => {
  test('a watcher of all gets the steps of the namespaces that it may see, and no others', async () => {
    const { world, clock, steps, next } = await createWatched({})
    const { namespace: _, ...ofNone } = step('nowhere', 'of-none')
    for (const one of [step('bank', 'hidden'), ofNone as DoneStep, step('shop', 'seen')]) steps.publish(one)
    expect(await next()).toContain('"id":"seen"')
    const waited = next()
    world.isAllowed = false
    clock.advance(10_001)
    steps.publish(step('shop', 'hidden'))
    await vi.waitFor(() => expect(world.calls).toBeGreaterThan(4))
    world.isAllowed = true
    clock.advance(10_001)
    steps.publish(step('shop', 'seen-again'))
    expect(await waited).toContain('"id":"seen-again"')
  })

  test('a watcher of all costs one check of a namespace that it may not see within ten seconds', async () => {
    const { world, clock, steps, next } = await createWatched({})
    steps.publish(step('shop', 'first'))
    await next()
    world.calls = 0
    const asking = async () => {
      for (const id of ['1', '2', '3']) steps.publish(step('bank', id))
      steps.publish(step('shop', 'last'))
      expect(await next()).toContain('"id":"last"')
    }
    for (const _ of [1, 2]) await asking()
    expect(world.calls).toBe(1)
    clock.advance(10_001)
    await asking()
    // the token and both namespaces
    expect(world.calls).toBe(4)
  })

  test('a watcher of all whose token is not valid any more is told why the stream ends', async () => {
    const { world, clock, steps, next } = await createWatched({})
    delete world.tokens.good
    clock.advance(10_001)
    steps.publish(step('shop'))
    expect(await next()).toMatch(/^event: end\ndata: .*"status":401/)
    expect(await next()).toBeUndefined()
  })

  test('everybody gets all steps where nobody is authenticated, also those that were missed', async () => {
    const steps = createStepStream({ connect: vi.fn(), clock: fakeClock(), timeoutMilliseconds: 1_000 })
    for (const namespace of ['shop', 'bank']) steps.publish(step(namespace))
    const response = await steps.stream(new URLSearchParams(), undefined, '0')
    steps.publish(step('library'))
    steps.close()
    expect((await response.text()).match(/"namespace":"\w+"/g)).toEqual(
      ['shop', 'bank', 'library'].map((name) => `"namespace":"${name}"`),
    )
  })
})

describe('a stream of steps', () => {
  const createOpen = () => createStepStream({ connect: vi.fn(), clock: fakeClock(), timeoutMilliseconds: 1_000 })

  test('a stream is refused once the process is stopping, as it would keep that from its end', async () => {
    const steps = createOpen()
    steps.close()
    await expect(steps.stream(new URLSearchParams(), undefined)).rejects.toMatchObject({ status: 503 })
  })

  test('a stream of steps sends the steps of a namespace as they are taken, until it is closed', async () => {
    const steps = createOpen()
    const response = await steps.stream(new URLSearchParams({ namespace: 'shop' }), undefined)
    steps.publish(step('shop'))
    steps.publish(step('elsewhere'))
    expect(await seen(steps, ['shop'], 'none')).toEqual([['1', step('shop')]])
    steps.close()
    expect(await response.text()).toMatch(/^: steps follow\n\nid: \w+-1\ndata: (.*)\n\n/)
  })

  /** The number and the step of each that comes at once to who comes back with `last`. */
  const seen = async (steps: ReturnType<typeof createStepStream>, namespaces: readonly string[], last?: string) => {
    const query = new URLSearchParams(namespaces.map((name): [string, string] => ['namespace', name]))
    const { body } = await steps.stream(query, undefined, last)
    steps.publish(step(namespaces[0] ?? '', 'marker'))
    let text = ''
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      if (text.includes('"marker"')) break
    }
    const messages = [...text.matchAll(/id: \w+-(\d+)\ndata: (.*)\n\n/g)]
    return messages
      .map(([, number, data = '']) => [number, JSON.parse(data)] as const)
      .filter(([, { event }]) => event.id !== 'marker')
  }

  test('a stream of steps goes on after the last step that a watcher has seen, and from the beginning for one of an earlier process', async () => {
    const steps = createOpen()
    const response = await steps.stream(new URLSearchParams({ namespace: 'shop' }), undefined)
    for (const namespace of ['shop', 'bank', 'shop', 'elsewhere']) steps.publish(step(namespace))
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    await reader?.read()
    const [, first = ''] = /id: (\S+)/.exec((await reader?.read())?.value ?? '') ?? []
    expect(await seen(steps, ['shop', 'bank'], first)).toEqual([
      ['2', step('bank')],
      ['3', step('shop')],
    ])
    expect((await seen(steps, ['shop', 'bank'], 'earlier-7')).map(([number]) => number)).toEqual(['1', '2', '3'])
    expect(await seen(steps, ['shop', 'bank'])).toEqual([])
  })

  test('a stream of steps keeps the last 200 steps for who comes back', async () => {
    const steps = createOpen()
    for (let count = 0; count < 300; count += 1) steps.publish(step('shop'))
    const kept = await seen(steps, ['shop'], '0')
    expect([kept.length, kept[0]?.[0]]).toEqual([200, '101'])
  })

  test('a stream of steps lets go of a watcher that reads nothing with all that it has not read, and of no other', async () => {
    const steps = createOpen()
    const watch = () => steps.stream(new URLSearchParams({ namespace: 'shop' }), undefined)
    const slow = await watch()
    for (let count = 0; count < 1_100; count += 1) steps.publish(step('shop'))
    const other = await watch()
    steps.publish(step('shop'))
    steps.close()
    await expect(slow.text()).rejects.toThrow('has not read more than 1000 steps')
    expect((await other.text()).split('data: ')).toHaveLength(2)
  })

  test('a stream of steps takes twenty watchers', async () => {
    const steps = createOpen()
    const watch = () => steps.stream(new URLSearchParams({ namespace: 'shop' }), undefined)
    const first = await Promise.all(Array.from({ length: 20 }, watch))
    await expect(watch()).rejects.toMatchObject({ status: 429, retryAfterSeconds: 1 })
    await first[0]?.body?.cancel()
    await expect(watch()).resolves.toBeDefined()
  })
})
