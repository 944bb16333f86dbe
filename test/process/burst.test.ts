import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createControlGroup } from '../helpers/control-group.ts'
import { configDocument, crowd, documentEvent } from '../helpers/crowd.ts'
import { service, workload } from '../helpers/world.ts'
import { ensureBundle, post, serve, startCluster } from './helpers.ts'

beforeAll(ensureBundle)

const MEBIBYTE = 1024 * 1024

/** The bounds of the image. */
const IMAGE = {
  MALLOC_ARENA_MAX: '2',
  NODE_OPTIONS: '--max-old-space-size-percentage=45 --max-semi-space-size=8',
}

const AT_ONCE = 20

const NOT_TESTED = 'no control group can be made here: that a process lives within a bound of memory was not tested'

test.for([256, 128])(
  'a process of %s MiB lives through 20 events at once beside 100 memories of 100 kB, and all are applied',
  async (mebibytes, { skip }) => {
    const limit = `${mebibytes * MEBIBYTE}`
    const group = await createControlGroup([
      { root: '/sys/fs/cgroup/memory', file: 'memory.limit_in_bytes', text: limit },
      { root: '/sys/fs/cgroup', file: 'memory.max', text: limit },
    ])
    if (!group) return skip(NOT_TESTED)
    onTestFinished(() => group.remove())
    const names = Array.from({ length: AT_ONCE }, (_, index) => `new-${index}`)
    const cluster = await startCluster([
      ...(await crowd(100)),
      ...names.flatMap((name) => [workload('StatefulSet', name), service(name), configDocument(name)]),
    ])
    const { url, end } = await serve({ environment: { ...cluster.environment, ...IMAGE }, enter: group.enter })
    const statuses: number[] = []
    const deliver = async (application: string): Promise<void> => {
      const told = documentEvent(application)
      for (;;) {
        const response = await post(url, told)
        await response.arrayBuffer()
        statuses.push(response.status)
        if (![429, 503].includes(response.status)) return
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
        await sleep(1_000)
      }
    }
    await Promise.all(names.map(deliver))
    expect(statuses.filter((one) => ![200, 429, 503].includes(one))).toEqual([])
    expect(names.filter((name) => cluster.labels(name).template.tier !== 'gold')).toEqual([])
    expect(await end('SIGTERM')).toEqual({ code: 0, signal: null })
  },
)
