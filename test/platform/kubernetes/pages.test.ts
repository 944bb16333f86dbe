import { expect, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { Unavailable } from '../../../src/platform/base/errors.ts'
import { createKubernetes, type Transport } from '../../../src/platform/kubernetes/client.ts'
import { fakeClock } from '../../helpers/clock.ts'

/** A namespace of so many ConfigMaps, and a client that counts its calls and the longest answer. */
const createNamespace = (count: number) => {
  const api = createEmbeddedApi()
  api.seed(
    Array.from({ length: count }, (_, index) => ({
      ...{ apiVersion: 'v1', kind: 'ConfigMap' },
      metadata: { name: `c-${index}`, namespace: 'shop', labels: { of: index < count - 1 ? 'us' : 'others' } },
      data: { text: 'x'.repeat(100) },
    })),
  )
  const seen = { calls: [] as string[], longest: 0, writeBetween: () => undefined as unknown, expire: 0 }
  const transport: Transport = async (request) => {
    const isNext = request.path.includes('continue=')
    if (isNext) seen.writeBetween()
    seen.calls.push(request.path)
    if (isNext && seen.expire > 0) {
      seen.expire -= 1
      const body = { kind: 'Status', metadata: {}, status: 'Failure', reason: 'Expired', code: 410, message: 'too old' }
      return { status: 410, headers: {}, body: JSON.stringify(body) }
    }
    const answer = api.handle(request)
    seen.longest = Math.max(seen.longest, answer.body.length)
    return answer
  }
  const clock = fakeClock()
  const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + 10_000 })
  return { api, kubernetes, seen }
}

test('a list is read 500 objects at a time, whatever there are', async () => {
  const { kubernetes, seen } = createNamespace(1_502)
  const listed = await kubernetes.list('ConfigMap', 'shop', 'of=us')
  expect(new Set(listed.map(({ metadata }) => metadata.name)).size).toBe(1_501)
  expect(listed.every(({ kind, apiVersion }) => kind === 'ConfigMap' && apiVersion === 'v1')).toBe(true)
  expect(seen.calls).toHaveLength(4)
  const text = JSON.stringify(listed).length
  expect(seen.longest).toBeLessThan(text / 2)
})

test('of each page is kept what is made of it, also when the list is begun again', async () => {
  const { kubernetes, seen } = createNamespace(1_200)
  seen.expire = 1
  expect(await kubernetes.pages('ConfigMap', 'shop', 'of=us', (objects) => objects.length)).toEqual([500, 500, 199])
})

test('of each page no more is kept and counted than what a field manager wrote', async () => {
  const { api, kubernetes } = createNamespace(1_200)
  const metadata = { name: 'ours', namespace: 'shop', labels: { of: 'us' } }
  api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata }], { manager: 'us' })
  const counted: number[] = []
  const options = { managers: ['us'], keep: (characters: number) => void counted.push(characters) }
  const listed = await kubernetes.list('ConfigMap', 'shop', 'of=us', options)
  expect(listed.map((one) => one.metadata.name)).toEqual(['ours'])
  expect(counted).toEqual([JSON.stringify(listed).length])
})

test('a list that is too much for who counts it is not read to its end', async () => {
  const { kubernetes, seen } = createNamespace(1_200)
  const keep = () => {
    throw new Unavailable('too much', { status: 429 })
  }
  await expect(kubernetes.list('ConfigMap', 'shop', 'of=us', { keep })).rejects.toThrow('too much')
  expect(seen.calls).toHaveLength(1)
})

test('a small list is one call', async () => {
  const { kubernetes, seen } = createNamespace(500)
  expect(await kubernetes.list('ConfigMap', 'shop')).toHaveLength(500)
  expect(seen.calls).toEqual(['/api/v1/namespaces/shop/configmaps?limit=500'])
})

test('all pages are of one moment, whoever writes between them', async () => {
  const { api, kubernetes, seen } = createNamespace(1_001)
  seen.writeBetween = () => {
    for (const path of ['c-0', 'c-1000', 'c-999'])
      api.handle({ method: 'DELETE', path: `/api/v1/namespaces/shop/configmaps/${path}`, headers: {} })
  }
  expect(await kubernetes.list('ConfigMap', 'shop')).toHaveLength(1_001)
})

test.each([1, 2])('a list that expires while it is read is begun again: %s times', async (times) => {
  const { kubernetes, seen } = createNamespace(1_200)
  seen.expire = times
  expect(await kubernetes.list('ConfigMap', 'shop')).toHaveLength(1_200)
  expect(seen.calls).toHaveLength(3 + 2 * times)
})

test('a list that always expires can be tried again later', async () => {
  const { kubernetes, seen } = createNamespace(600)
  seen.expire = 9
  const failure: unknown = await kubernetes.list('ConfigMap', 'shop').catch((error: unknown) => error)
  expect([failure instanceof Unavailable, seen.calls.length]).toEqual([true, 6])
  expect(String(failure)).toContain('LIST ConfigMap shop')
})

test('objects share the field sets that are equal', async () => {
  const { kubernetes } = createNamespace(600)
  const [one, other] = await kubernetes.list('ConfigMap', 'shop')
  expect(one?.metadata.managedFields?.[0]?.fieldsV1).toBeDefined()
  expect(one?.metadata.managedFields?.[0]?.fieldsV1).toBe(other?.metadata.managedFields?.[0]?.fieldsV1)
})
