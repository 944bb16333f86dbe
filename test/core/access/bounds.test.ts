import { describe, expect, test, vi } from 'vitest'
import { createAnswerQuery } from '../../../src/ask/views/answer-query.ts'
import { createAccessReviews } from '../../../src/core/access/access-reviews.ts'
import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { createKubernetes, type TransportRequest } from '../../../src/platform/kubernetes/client.ts'
import { fakeClock } from '../../helpers/clock.ts'

const BUSY = expect.objectContaining({ status: 429, retryAfterSeconds: 1 })

/** An API server that answers reviews when it is told to, and who may do everything there. */
const createSlow = (isSlow: (body: string) => boolean) => {
  const clock = fakeClock()
  const api = createEmbeddedApi({
    tokens: { good: 'tenant', other: 'other' },
    audiences: ['meshstep'],
    allows: () => true,
  })
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const asked = vi.fn()
  const transport = async (request: TransportRequest) => {
    asked()
    if (isSlow(request.body ?? '')) await answered
    return api.handle(request)
  }
  const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + 60_000 })
  return { clock, kubernetes, answer, asked }
}

/** Those of many attempts that were refused as too many, and the rest, which wait. */
const flood = async (times: number, attempt: (index: number) => Promise<unknown>) => {
  const refused: unknown[] = []
  for (let index = 0; index < times; index += 1) attempt(index).catch((error: unknown) => refused.push(error))
  await vi.waitFor(() => expect(refused.length).toBeGreaterThan(0))
  for (const error of refused) expect(error).toEqual(BUSY)
  return times - refused.length
}

describe('tokens that are being verified are bounded', () => {
  const createFlooded = async () => {
    const world = createSlow((body) => body.includes('"token":"bad-'))
    const authenticate = createAuthenticate({ audience: 'meshstep', clock: world.clock })
    const come = (token: string) => authenticate(world.kubernetes, `Bearer ${token}`)
    return { ...world, come }
  }

  test('a flood of tokens that nobody knows is refused with 429 beyond a few, and asks no more of the API server', async () => {
    const { come, asked, answer } = await createFlooded()
    expect(await flood(1_000, (index) => come(`bad-${index}`))).toBe(12)
    expect(asked).toHaveBeenCalledTimes(12)
    answer()
    await expect(come('bad-1')).rejects.toMatchObject({ status: 401 })
  })

  test('a token that was valid before is verified beside it, also when its verdict is not kept any more', async () => {
    const { come, clock } = await createFlooded()
    expect((await come('good')).author.username).toBe('tenant')
    await flood(1_000, (index) => come(`bad-${index}`))
    clock.advance(11_000)
    expect((await come('good')).author.username).toBe('tenant')
    await expect(come('other')).rejects.toEqual(BUSY)
  })
})

test('questions to RBAC are bounded, and those of one user leave room for another', async () => {
  const { clock, kubernetes, answer, asked } = createSlow((body) => body.includes('"user":"tenant"'))
  const rights = createAccessReviews(clock)
  const authorize = (username: string, application: string) =>
    rights.authorize(kubernetes, { username }, { namespace: `of-${application}`, application })
  expect(await flood(500, (index) => authorize('tenant', `a-${index}`))).toBe(48)
  expect(asked).toHaveBeenCalledTimes(48)
  await expect(authorize('other', 'b')).resolves.toBeUndefined()
  answer()
  await vi.waitFor(() => authorize('tenant', 'a-499'))
})

describe('questions of users are bounded', () => {
  const createAsked = () => {
    const { clock, kubernetes } = createSlow(() => false)
    const authenticate = createAuthenticate({ audience: 'meshstep', clock })
    const timeoutMilliseconds = 1_000
    return createAnswerQuery({ authenticate, connect: () => kubernetes, clock, timeoutMilliseconds }, 8)
  }

  test('those of one leave room for another, and room comes back with each answer', async () => {
    const ask = createAsked()
    const { promise: done, resolve: finish } = Promise.withResolvers<void>()
    expect(await flood(50, () => ask('Bearer good', () => done))).toBe(6)
    expect(await ask('Bearer other', async ({ sender }) => sender?.author.username)).toBe('other')
    finish()
    await vi.waitFor(() => ask('Bearer good', async () => undefined))
  })

  test('who is not known has no part in them', async () => {
    const ask = createAsked()
    for (let times = 0; times < 50; times += 1)
      await expect(ask('Bearer bad', async () => undefined)).rejects.toMatchObject({ status: 401 })
  })

  test('all of those together are bounded where nobody is asked for a token', async () => {
    const { clock, kubernetes } = createSlow(() => false)
    const ask = createAnswerQuery({ connect: () => kubernetes, clock, timeoutMilliseconds: 1_000 }, 8)
    expect(await flood(50, () => ask(undefined, () => new Promise(() => undefined)))).toBe(8)
  })
})
