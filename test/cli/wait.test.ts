import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { waitFor } from '../../src/cli/commands/wait.ts'
import { Failure } from '../../src/cli/failure.ts'
import { connect, ErrorAnswer } from '../../src/cli/server.ts'
import { fakeClock } from '../helpers/clock.ts'

type Answer = { status: { status: string }; conditions?: readonly { message: string }[] } | Error

const READY: Answer = { status: { status: 'active' }, conditions: [] }
const WAITING: Answer = {
  status: { status: 'waiting' },
  conditions: [{ message: 'a is away' }, { message: 'b is away' }],
}
const REMOVED: Answer = { status: { status: 'removed' }, conditions: [] }
const ABSENT = new ErrorAnswer(404, 'shop/web: unknown application')

const TIMEOUT = 10_000

let printed = ''
beforeEach(() => {
  printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += text
    return true
  })
})
afterEach(() => vi.restoreAllMocks())

/** A server with answers about each application, one after another; the last one stays. */
const waitOn = async (
  answers: Readonly<Record<string, readonly [Answer, ...Answer[]]>>,
  condition: 'ready' | 'delete' = 'ready',
) => {
  const clock = fakeClock(0)
  const asked: string[] = []
  const get = async <T>(path: string): Promise<T> => {
    const name = path.replace('/applications/', '')
    const given = answers[name] ?? [ABSENT]
    const answer = given[asked.filter((one) => one === name).length] ?? given.at(-1)
    asked.push(name)
    if (answer instanceof Error) throw answer
    return answer as T
  }
  const options = { for: condition, timeout: TIMEOUT }
  const failure = await waitFor({ get }, Object.keys(answers), options, clock).catch((error: unknown) => error)
  return { failure, asked: asked.length, slept: clock.now() }
}

const NOT_READY = 'not ready in time: do as is said here, or set a longer --timeout'

test('an application that is ready is printed at once', async () => {
  expect(await waitOn({ 'shop/web': [READY] })).toEqual({ failure: undefined, asked: 1, slept: 0 })
  expect(printed).toBe('application shop/web ready\n')
})

test('an application that does not exist yet is waited for, until it is ready', async () => {
  const { failure, asked, slept } = await waitOn({ 'shop/web': [ABSENT, WAITING, READY] })
  expect([failure, asked, slept]).toEqual([undefined, 3, 4_000])
  expect(printed).toBe('application shop/web ready\n')
})

test('when the time is over, each thing that is waited for is told on a line, and the code is 1', async () => {
  const { failure, slept } = await waitOn({ 'shop/web': [WAITING] })
  const message = [NOT_READY, 'shop/web: a is away', 'shop/web: b is away'].join('\n')
  expect(failure).toMatchObject({ message, code: 1 })
  expect([printed, slept]).toEqual(['', TIMEOUT])
})

test('all applications that are named have to be ready, and one that is ready is asked about no more', async () => {
  const { failure, asked } = await waitOn({ 'shop/db': [READY], 'shop/web': [WAITING, ABSENT] })
  expect(failure).toMatchObject({ message: [NOT_READY, ABSENT.message].join('\n') })
  expect([printed, asked]).toEqual(['application shop/db ready\n', 7])
  printed = ''
  expect((await waitOn({ 'shop/db': [WAITING, READY], 'shop/web': [READY] })).failure).toBeUndefined()
  expect(printed).toBe('application shop/web ready\napplication shop/db ready\n')
})

test('a removal is waited for until the application is removed, or unknown', async () => {
  for (const end of [REMOVED, ABSENT]) {
    printed = ''
    expect(await waitOn({ 'shop/web': [READY, WAITING, end] }, 'delete')).toMatchObject({
      failure: undefined,
      asked: 3,
    })
    expect(printed).toBe('application shop/web removed\n')
  }
  const { failure } = await waitOn({ 'shop/web': [WAITING] }, 'delete')
  expect(failure).toMatchObject({
    message: expect.stringMatching(/^not removed in time.*\nshop\/web: it is not removed\nshop\/web: a/),
  })
  expect((await waitOn({ 'shop/web': [READY] }, 'delete')).failure).toBeInstanceOf(Failure)
})

test('a server that does not know the path does not say that an application is gone', async () => {
  const other = new ErrorAnswer(404, 'http://x answers 404: not here')
  const { failure } = await waitOn({ 'shop/web': [other] }, 'delete')
  expect(failure).toMatchObject({ message: expect.stringContaining(other.message) })
})

test.each([429, 500, 503])('an answer %i may pass, and is waited for', async (status) => {
  expect((await waitOn({ 'shop/web': [new ErrorAnswer(status, 'busy'), READY] })).failure).toBeUndefined()
  const { failure } = await waitOn({ 'shop/web': [new ErrorAnswer(status, 'busy')] }, 'delete')
  expect(failure).toMatchObject({ message: expect.stringMatching(/^not removed in time.*\nbusy$/) })
})

test.each([
  new ErrorAnswer(400, 'wrong'),
  new ErrorAnswer(401, 'no token'),
  new ErrorAnswer(403, 'not you'),
  new Failure('http://x does not answer'),
])('an error that no time mends ends the wait at once: %s', async (error) => {
  expect(await waitOn({ 'shop/web': [error, READY] })).toEqual({ failure: error, asked: 1, slept: 0 })
})

test('functions that do not say what is ready are waited for, and told to be upgraded', async () => {
  const { failure } = await waitOn({ 'shop/web': [{ status: { status: 'active' } }] })
  expect(failure).toMatchObject({ message: expect.stringMatching(/\nshop\/web: .*older than this command: upgrade/) })
})

test('a question to a server that never answers is given up', async () => {
  const signals: unknown[] = []
  const get = async <T>(_path: string, _query?: object, signal?: AbortSignal): Promise<T> => {
    signals.push(signal)
    return READY as T
  }
  await waitFor({ get }, ['shop/web'], { for: 'ready', timeout: TIMEOUT }, fakeClock(0))
  expect(signals).toEqual([expect.any(AbortSignal)])
  const { get: ask } = await connect({ server: 'http://localhost:9', target: '' })
  await expect(ask('/applications/shop/web', {}, AbortSignal.abort())).rejects.toThrow(/does not answer .*aborted/)
})
