import { expect, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { createKubernetes, readingOnce } from '../../../src/platform/kubernetes/client.ts'
import { createKeptAnswers } from '../../../src/platform/kubernetes/kept-answers.ts'
import { fakeClock } from '../../helpers/clock.ts'

const configMap = (name: string, labels: Record<string, string> = {}) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name, labels } },
})

const create = (most = 10) => {
  const may = { list: true }
  const api = createEmbeddedApi()
  const refusal = JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'no', code: 403 })
  const clock = fakeClock()
  const open = createKeptAnswers(clock, most)
  let made = 0
  /** Asks a question as a new request does. */
  const ask = (question: string, of: Parameters<ReturnType<typeof open>>[1]) => {
    const transport = async (request: Parameters<typeof api.handle>[0]) =>
      may.list ? api.handle(request) : { status: 403, headers: {}, body: refusal }
    const kubernetes = readingOnce(createKubernetes({ transport, clock, deadline: clock.now() + 10_000 }))
    return open(kubernetes)(question, async (...given) => {
      made += 1
      return await of(...given)
    })
  }
  return { api, may, clock, ask, made: () => made }
}

test('an answer is made once as long as what it has read is unchanged, found or not', async () => {
  const { api, ask, made } = create()
  const find = () =>
    ask('a', async (kubernetes) => (await kubernetes.find({ kind: 'ConfigMap', namespace: 'shop', name: 'a' }))?.kind)
  expect([await find(), await find(), made()]).toEqual([undefined, undefined, 1])
  api.seed([configMap('b')])
  expect([await find(), made()]).toEqual([undefined, 1])
  api.seed([configMap('a')])
  expect([await find(), await find(), made()]).toEqual(['ConfigMap', 'ConfigMap', 2])
})

test('an answer is made again where a list has another object, and not where another list has', async () => {
  const { api, ask, made } = create()
  const count = () => ask('count', async (kubernetes) => (await kubernetes.list('ConfigMap', 'shop', 'app=web')).length)
  expect(await count()).toBe(0)
  api.seed([configMap('other', { app: 'db' })])
  expect([await count(), made()]).toEqual([0, 1])
  api.seed([configMap('web', { app: 'web' })])
  expect([await count(), made()]).toEqual([1, 2])
})

test('an answer that something may not be read is kept until it may', async () => {
  const { may, ask, made } = create()
  may.list = false
  const count = () =>
    ask('count', async (kubernetes) => (await kubernetes.list('ConfigMap', 'shop').catch(() => [1, 2])).length)
  expect([await count(), await count(), made()]).toEqual([2, 2, 1])
  may.list = true
  expect([await count(), made()]).toEqual([0, 2])
})

test('an answer depends on a text that it notes, and not on how that was read', async () => {
  const { api, ask, made } = create()
  const ask1 = () =>
    ask('noted', async (_, note) => {
      await note('how many', async (kubernetes) => String((await kubernetes.list('ConfigMap', 'shop')).length > 1))
      return made()
    })
  expect(await ask1()).toBe(1)
  api.seed([configMap('a')])
  expect(await ask1()).toBe(1)
  api.seed([configMap('b')])
  expect(await ask1()).toBe(2)
})

test('an answer is made again after a minute, after a rejection, and when others took its place', async () => {
  const { clock, ask, made } = create(1)
  const answer = () => ask('one', async () => 1)
  await answer()
  clock.advance(59_000)
  await answer()
  expect(made()).toBe(1)
  clock.advance(2_000)
  await answer()
  expect(made()).toBe(2)
  await ask('other', async () => 2)
  await answer()
  expect(made()).toBe(4)
  await expect(ask('fails', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(ask('fails', () => Promise.reject(new Error('still no')))).rejects.toThrow('still no')
})
