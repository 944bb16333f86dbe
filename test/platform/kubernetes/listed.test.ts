import { describe, expect, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { createKubernetes, type Transport } from '../../../src/platform/kubernetes/client.ts'
import { createListed } from '../../../src/platform/kubernetes/listed.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../../helpers/clock.ts'

const NAME = 'app.kubernetes.io/name'

const configMap = (name: string, labels: Record<string, string>, data = {}): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  metadata: { name, namespace: 'shop', labels },
  data,
})

const OBJECTS = [
  ...Array.from({ length: 40 }, (_, index) =>
    configMap(`c-${index}`, { [NAME]: `web-${index % 3}`, tier: index % 2 === 0 ? 'a' : 'b' }, { text: `"\n${index}` }),
  ),
  configMap('bare', {}),
]

/** A client, one that lists, and the calls of both. */
const createReaders = (objects = OBJECTS) => {
  const api = createEmbeddedApi()
  api.seed(objects)
  const calls: string[] = []
  const transport: Transport = async (request) => {
    calls.push(`${request.method} ${request.path}`)
    return api.handle(request)
  }
  const clock = fakeClock()
  const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + 10_000 })
  return { api, kubernetes, calls, ...createListed(kubernetes) }
}

const nothing = () => undefined

describe('lists that many readers share', () => {
  test('lists that many readers share answer for each object what a read of its own would, without a call', async () => {
    const { kubernetes, listing, reading, calls } = createReaders()
    await listing.pages('ConfigMap', 'shop', undefined, nothing)
    for (const { metadata } of OBJECTS) {
      const reference = { kind: 'ConfigMap', namespace: 'shop', name: metadata.name } as const
      const own = await kubernetes.find(reference)
      calls.length = 0
      expect(await reading.find(reference)).toEqual(own)
      expect(calls).toEqual([])
    }
  })

  test('lists that many readers share know what is not there only of a list that has all of a namespace', async () => {
    const { listing, reading, calls } = createReaders()
    await listing.pages('ConfigMap', 'shop', 'tier=a', nothing)
    const missing = { kind: 'ConfigMap', namespace: 'shop', name: 'missing' } as const
    calls.length = 0
    expect(await reading.find(missing)).toBeUndefined()
    expect(await reading.find({ ...missing, name: 'c-1' })).toMatchObject({ metadata: { name: 'c-1' } })
    expect(calls).toHaveLength(2)
    await listing.pages('ConfigMap', 'shop', undefined, nothing)
    calls.length = 0
    expect(await reading.find(missing)).toBeUndefined()
    expect(calls).toEqual([])
    expect(await reading.find({ ...missing, namespace: 'other' })).toBeUndefined()
    expect(calls).toHaveLength(1)
  })

  test.each([
    ['all', undefined, undefined, 0],
    ['a selector that was listed', 'tier in (a,b)', 'tier in (a,b)', 0],
    ['one label of an index', undefined, `${NAME}=web-1`, 0],
    ['a label of an index, and others', undefined, `tier=a,${NAME}=web-1`, 0],
    ['what was listed, and a label of an index', 'tier=a', `${NAME}=web-1,tier=a`, 0],
    ['a label that has to be there, of an index', NAME, `${NAME}=web-1`, 0],
    ['a value that nobody has', undefined, `${NAME}=nobody`, 0],
    ['a label without an index', undefined, 'tier=a', 1],
    ['less than what was listed', 'tier=a', `${NAME}=web-1`, 1],
    ['another value than was listed', 'tier=a', `tier=b,${NAME}=web-1`, 1],
    ['a set', undefined, `${NAME}=web-1,tier in (b,c)`, 1],
    ['what must not be there', undefined, `${NAME}=web-1,!tier`, 1],
    ['another value than', undefined, `${NAME}=web-1,tier!=a`, 1],
    ['all, where some were listed', 'tier=a', undefined, 1],
  ])('lists that many readers share answer a list as the cluster does: %s', async (_, listed, asked, most) => {
    const { kubernetes, listing, reading, calls } = createReaders()
    await listing.pages('ConfigMap', 'shop', listed, nothing)
    const own = await kubernetes.list('ConfigMap', 'shop', asked)
    calls.length = 0
    expect(await reading.list('ConfigMap', 'shop', asked)).toEqual(own)
    expect(calls).toHaveLength(most)
  })

  test('lists that many readers share keep no more than what a field manager wrote', async () => {
    const { listing, reading } = createReaders()
    await listing.pages('ConfigMap', 'shop', undefined, nothing)
    const counted: number[] = []
    const options = (manager: string) => ({ managers: [manager], keep: (size: number) => void counted.push(size) })
    expect(await reading.list('ConfigMap', 'shop', `${NAME}=web-1`, options('us'))).toEqual([])
    expect(counted).toEqual([])
    expect(await reading.list('ConfigMap', 'shop', `${NAME}=web-1`, options('seed'))).toHaveLength(13)
    expect(counted).toHaveLength(13)
  })

  test('lists that many readers share keep of all namespaces what meshstep is said to have made, and no more in all than a bound', async () => {
    const { kubernetes, api } = createReaders()
    const metadata = { name: 'ours', namespace: 'shop', labels: { tier: 'a' } }
    api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata }], { manager: 'meshstep/web' })
    const { listing } = createListed(kubernetes, 150)
    await expect(listing.pages('ConfigMap', 'shop', 'tier=a', nothing)).rejects.toThrow('delete what is not needed')
    const all = createListed(kubernetes)
    expect(await all.listing.pages('ConfigMap', undefined, 'tier=a', (objects) => objects.length)).toEqual([21])
    const kept = await all.reading.list('ConfigMap', undefined, 'tier=a')
    expect(kept.map((one) => one.metadata.name)).toEqual(['ours'])
  })

  test('lists that many readers share leave everything else to the cluster, and read it once for all', async () => {
    const { reading, calls } = createReaders()
    for (const _ of [1, 2]) await reading.find({ kind: 'Namespace', name: 'shop' })
    expect(calls).toEqual(['GET /api/v1/namespaces/shop'])
  })

  test('hand each page on as it comes', async () => {
    const { listing } = createReaders(Array.from({ length: 1_001 }, (_, index) => configMap(`c-${index}`, {})))
    expect(await listing.pages('ConfigMap', 'shop', undefined, (objects) => objects.length)).toEqual([500, 500, 1])
  })

  test('lists that many readers share are read by nobody who writes', async () => {
    const { reading, calls } = createReaders()
    const [object] = OBJECTS
    if (object === undefined) throw new Error('expected an object')
    const reference = { kind: 'ConfigMap', namespace: 'shop', name: 'c-0' } as const
    const tried = [
      reading.create(object),
      reading.replace(object, 'm'),
      reading.apply(object, 'm', { force: false, dryRun: true }),
      reading.patch(reference, [], 'm'),
      reading.remove(object),
    ]
    for (const one of tried) await expect(one).rejects.toThrow('expected no write')
    expect(calls).toEqual([])
  })
})
