import { describe, expect, test } from 'vitest'
import { createAuthenticate } from '../../src/access/authorize.ts'
import { createEmbeddedApi } from '../../src/embedded/api.ts'
import { createSteps } from '../../src/http/steps.ts'
import { createKubernetes, type TransportAnswer } from '../../src/kubernetes/client.ts'
import type { DoneStep } from '../../src/reconcile/handle.ts'
import { fakeClock } from '../helpers/clock.ts'

const step = (id: string) =>
  ({ namespace: 'shop', application: 'db', event: { id }, status: 'changed' }) as unknown as DoneStep

/** A stream of the steps of `shop` to one user, whose right and token can be taken away, and the API server's answer replaced. */
const createWatched = async () => {
  const tokens: Record<string, string> = { good: 'jane' }
  const world = { tokens, isAllowed: true, answer: undefined as TransportAnswer | undefined, calls: 0 }
  const api = createEmbeddedApi({ tokens, audiences: ['meshstep'], allows: () => world.isAllowed })
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
  const steps = createSteps({ connect, authenticate, clock, timeoutMilliseconds: 1_000 })
  const open = () => steps.stream(new URLSearchParams({ namespace: 'shop' }), 'Bearer good')
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
    steps.publish(step('seen'))
    expect(await next()).toContain('"id":"seen"')
    take(world)
    clock.advance(10_001)
    steps.publish(step('hidden'))
    const [, event, data = ''] = /^event: (.*)\ndata: (.*)\n\n$/.exec((await next()) ?? '') ?? []
    expect([event, JSON.parse(data)]).toEqual(['end', reason])
    expect(await next()).toBeUndefined()
  })

  test('who waits for a step while the right goes gets none either', async () => {
    const { world, clock, steps, next } = await createWatched()
    const waited = next()
    world.isAllowed = false
    clock.advance(10_001)
    steps.publish(step('hidden'))
    expect(await waited).toMatch(/^event: end\n/)
  })

  test('who has left room leaves it to others', async () => {
    const { world, clock, steps, open, next } = await createWatched()
    for (let others = 1; others < 15; others += 1) await open()
    await expect(open()).rejects.toMatchObject({ status: 429 })
    world.isAllowed = false
    clock.advance(10_001)
    steps.publish(step('hidden'))
    await next()
    world.isAllowed = true
    await expect(open()).resolves.toBeDefined()
  })

  test('who still may costs no call within ten seconds, however many steps there are', async () => {
    const { world, clock, steps, next } = await createWatched()
    world.calls = 0
    for (const id of ['1', '2', '3']) {
      steps.publish(step(id))
      expect(await next()).toContain(`"id":"${id}"`)
    }
    expect(world.calls).toBe(0)
    clock.advance(10_001)
    steps.publish(step('4'))
    expect(await next()).toContain('"id":"4"')
    expect(world.calls).toBe(2)
  })
})
