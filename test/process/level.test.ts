import { existsSync } from 'node:fs'
import { readdir, readlink } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { event, MESH_LABELS, meshRelation } from '../helpers/world.ts'
import { ensureBundle, post, serve, startCluster } from './helpers.ts'

beforeAll(ensureBundle)

const hasProc = existsSync('/proc/self/fd')

/** How many descriptors a process has open, and how many of them are sockets. */
const descriptorsOf = async (pid: number | undefined) => {
  const folder = `/proc/${pid}/fd`
  const all = await readdir(folder)
  const targets = await Promise.all(all.map((one) => readlink(`${folder}/${one}`)))
  return { all: all.length, sockets: targets.filter((target) => target.startsWith('socket:')).length }
}

const ROUND = 100
const ROUNDS = 6

test.skipIf(!hasProc)(
  'a process has no more descriptors and sockets after hundreds of events than after some',
  async () => {
    const { environment } = await startCluster()
    const { url, child } = await serve({ environment })
    const send = async (...[type, data]: Parameters<typeof event>) => {
      const response = await post(url, event(type, data))
      await response.arrayBuffer()
      expect(response.status).toBe(200)
    }
    const takeRound = async (round: number) => {
      for (let number = 2; number < ROUND; number += 2) {
        await send('relation-changed', meshRelation())
        await send('pod-restarted', { pod: { name: 'web-0', uid: `${round}-${number}` } })
      }
      // most connections are open while something is written
      await send('relation-changed', meshRelation({ ...MESH_LABELS, 'istio.io/use-waypoint': `waypoint-${round}` }))
      await send('relation-changed', meshRelation())
    }
    await takeRound(0)
    const { all, sockets } = await descriptorsOf(child.pid)
    for (let round = 1; round < ROUNDS; round += 1) await takeRound(round)
    const after = await descriptorsOf(child.pid)
    expect(after.sockets).toBeLessThanOrEqual(sockets)
    expect(after.all).toBeLessThanOrEqual(all)
  },
)
