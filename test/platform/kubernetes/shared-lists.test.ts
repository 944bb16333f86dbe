import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Unavailable } from '../../../src/platform/base/errors.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createSharedLists } from '../../../src/platform/kubernetes/shared-lists.ts'

const named = (name: string): KubernetesObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })

/** A list whose pages are what is there when it is begun, and that ends when it is let go on. */
const createSource = () => {
  const source = {
    there: ['a', 'b'],
    begun: 0,
    failing: undefined as Error | undefined,
    gates: [] as PromiseWithResolvers<void>[],
    read: async <T>(of: (objects: KubernetesObject[]) => T | Promise<T>): Promise<T[]> => {
      source.begun += 1
      const names = [...source.there]
      const gate = Promise.withResolvers<void>()
      source.gates.push(gate)
      await gate.promise
      if (source.failing) throw source.failing
      const pages: T[] = []
      for (const name of names) pages.push(await of([named(name)]))
      return pages
    },
    /** Lets all go on that has begun, until nothing begins any more. */
    finish: async () => {
      for (let rest = 0; rest < 5; rest += 1) {
        for (const gate of source.gates.splice(0)) gate.resolve()
        await turn()
      }
    },
  }
  return source
}

const namesOf = (objects: KubernetesObject[]) => objects.map(({ metadata }) => metadata.name)

describe('lists that are read at the same time', () => {
  test('lists that are read at the same time are two, however many read them', async () => {
    const [source, share] = [createSource(), createSharedLists()]
    const all = Array.from({ length: 20 }, () => share('memories', source.read, namesOf))
    await source.finish()
    expect(await Promise.all(all)).toEqual(Array(20).fill([['a'], ['b']]))
    expect(source.begun).toBe(2)
  })

  test('lists that are read at the same time have what was there when they were asked for, though another one was being read', async () => {
    const [source, share] = [createSource(), createSharedLists()]
    const early = share('memories', source.read, namesOf)
    await turn()
    source.there.push('c')
    const late = share('memories', source.read, namesOf)
    await source.finish()
    expect(await Promise.all([early, late])).toEqual([
      [['a'], ['b']],
      [['a'], ['b'], ['c']],
    ])
  })

  test('lists that are read at the same time keep of each page what each reader makes of it', async () => {
    const [source, share] = [createSource(), createSharedLists()]
    const first = share('memories', source.read, namesOf)
    const other = share('memories', source.read, async (objects) => objects.length)
    await source.finish()
    expect([await first, await other]).toEqual([
      [['a'], ['b']],
      [1, 1],
    ])
  })

  test('lists that are read at the same time fail for those alone who can keep nothing of them', async () => {
    const [source, share] = [createSource(), createSharedLists()]
    const first = share('memories', source.read, namesOf)
    const refused = share('memories', source.read, () => {
      throw new Unavailable('too much', { status: 429 })
    })
    const other = share('memories', source.read, namesOf)
    const settled = Promise.allSettled([first, refused, other])
    await source.finish()
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await expect(refused).rejects.toMatchObject({ status: 429 })
  })

  test('lists that are read at the same time are begun again for those who had more time than the one whose time is over', async () => {
    const [source, share] = [createSource(), createSharedLists()]
    const first = share('memories', source.read, namesOf)
    const short = share('memories', async () => Promise.reject(new Unavailable('no time')), namesOf)
    const long = share('memories', source.read, namesOf)
    const settled = Promise.allSettled([first, short, long])
    await source.finish()
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('lists that are read at the same time fail for all when the API server refuses them', async () => {
    const [source, share] = [createSource(), createSharedLists()]
    source.failing = new Error('forbidden')
    const settled = Promise.allSettled([1, 2, 3].map(() => share('memories', source.read, namesOf)))
    await source.finish()
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(source.begun).toBe(2)
  })

  test('lists that are read at the same time are read a few at a time where they are different ones', async () => {
    const [source, share] = [createSource(), createSharedLists(3)]
    const all = Array.from({ length: 20 }, (_, index) => share(`memories of ${index}`, source.read, namesOf))
    await turn()
    expect(source.begun).toBe(3)
    for (const gate of source.gates.splice(0, 1)) gate.resolve()
    await turn()
    expect(source.begun).toBe(4)
    for (let rest = 0; rest < 10; rest += 1) await source.finish()
    expect(await Promise.all(all)).toHaveLength(20)
  })
})
