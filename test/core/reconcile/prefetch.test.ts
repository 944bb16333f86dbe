import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { withKnownMemories } from '../../../src/core/reconcile/observe/known-memories.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes, type Transport, type TransportAnswer } from '../../../src/platform/kubernetes/client.ts'
import { createWorld, event, MESH_LABELS, meshRelation, setLabels, type World } from '../../helpers/world.ts'

const MEMORY = '/api/v1/namespaces/shop/configmaps/juju-service-mesh-web-labels'
const STATEFULSET = '/apis/apps/v1/namespaces/shop/statefulsets/web'

const pod = (id: string) => event('pod-restarted', { pod: { name: 'web-0', uid: 'u' } }, { id })

const readsOf = (world: World, path: string): number => world.calls.filter((call) => call === `GET ${path}`).length

/** Answers the next read of the memory as it is after something has happened that began while it was on its way. */
const whileItIsRead = (world: World, happen: () => unknown): void => {
  world.intercept = async ({ method, path }): Promise<TransportAnswer | undefined> => {
    if (method !== 'GET' || path !== MEMORY) return undefined
    world.intercept = undefined
    await turn()
    await happen()
    return undefined
  }
}

test('as many memories are known as fit, also of applications that have none', async () => {
  const memoryOf = (name: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `juju-service-mesh-${name}-labels`, namespace: 'shop' },
    data: { labels: '{}' },
  })
  const { api, clock } = createWorld(['a', 'b', 'c'].map(memoryOf))
  const transport: Transport = async (request) => api.handle(request)
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  const { load, known } = withKnownMemories(features.memories, 3 * 1_100)
  const subjects = ['a', 'b', 'none', 'c'].map((application) => ({ namespace: 'shop', application }))
  for (const subject of subjects) await load(kubernetes, subject)
  expect(subjects.filter(known).map(({ application }) => application)).toEqual(['b', 'c'])
})

describe('what is read beside the memory', () => {
  let world: World

  beforeEach(async () => {
    world = createWorld()
    await world.send('relation-changed', meshRelation(), { id: 'told' })
    await world.clock.sleep(10_000)
    world.calls.length = 0
  })

  test('what is read beside the memory is read again where somebody else has saved the memory meanwhile', async () => {
    whileItIsRead(world, () => {
      world.api.handle({
        method: 'PATCH',
        path: `${MEMORY}?fieldManager=another`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ metadata: { annotations: { saved: 'meanwhile' } } }),
      })
      setLabels(world, 'kubectl', { 'istio.io/dataplane-mode': null })
    })
    await world.send('relation-changed', meshRelation(), { id: 'once' })
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })

  test('what is read beside the memory is read again where something else is told meanwhile', async () => {
    let other: Promise<Response> | undefined
    whileItIsRead(world, async () => {
      setLabels(world, 'kubectl', { 'istio.io/dataplane-mode': null })
      other = Promise.resolve(world.post(event('relation-changed', meshRelation(), { id: 'again' })))
      await turn()
    })
    await world.send('relation-changed', meshRelation(), { id: 'once' })
    expect((await other)?.status).toBe(200)
    expect(world.labels().template).toMatchObject(MESH_LABELS)
  })

  test('what is read beside the memory is read once where several wait: they may be told more', async () => {
    const statuses = await Promise.all(['1', '2', '3'].map(async (id) => (await world.post(pod(id))).status))
    expect(statuses).toEqual([200, 200, 200])
    expect(readsOf(world, STATEFULSET)).toBe(2)
  })
})
