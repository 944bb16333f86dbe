import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createEmptyWorld, deployed, patch, pods, remove, scale, unitsOf, view } from '../../helpers/application.ts'
import { createWorld, event, NAMESPACE, type World, workload } from '../../helpers/world.ts'

type Kind = 'Deployment' | 'StatefulSet'

/** An application of two pods whose workload somebody else deploys, or which is its own. */
const ofOthers = async (kind: Kind) => {
  const world = createWorld([workload(kind)])
  await world.send('config-changed', { config: {} })
  return world
}

const own = async (kind: Kind) => {
  const world = createEmptyWorld()
  const type = kind === 'StatefulSet' ? 'stateful' : 'stateless'
  await world.send('config-changed', deployed({ deployment: { type } }))
  scaleTo(world, 2)
  await world.send('resync', {})
  return world
}

const scaleTo = (world: World, replicas: number) => {
  for (const kind of ['Deployment', 'StatefulSet']) scale(world, replicas, kind)
}

const WORKLOADS = [
  ['a Deployment of others', () => ofOthers('Deployment')],
  ['a Deployment of its own', () => own('Deployment')],
  ['a StatefulSet of others', () => ofOthers('StatefulSet')],
  ['a StatefulSet of its own', () => own('StatefulSet')],
] as const

const podAt = (world: World, index: number): KubernetesObject => {
  const pod = pods(world)[index]
  if (pod === undefined) throw new Error(`no pod ${index}`)
  return pod
}

const nameAt = (world: World, index: number): string => podAt(world, index).metadata.name

const fromApiServer = (verb: string, object: object, id?: string) => ({
  ...event('x', {}, id === undefined ? {} : { id }),
  type: `dev.knative.apiserver.resource.${verb}`,
  data: object,
})

const lease = (holder: string, epoch: number, uid = 'lease', created = '2026-01-01T00:00:00Z') => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'web', namespace: NAMESPACE, uid, creationTimestamp: created },
  spec: { holderIdentity: holder, leaseTransitions: epoch },
})

const elect = async (world: World, ...told: Parameters<typeof lease>) => {
  const response = await world.post(fromApiServer('update', lease(...told)))
  return (await response.json()) as { status: string; application?: string; messages: string[] }
}

/** A unit asks for settings: answers with the status of HTTP. */
const ask = async (world: World, unit: string, colour: string, id?: string): Promise<number> => {
  const asked = event('config-changed', { settings: { colour }, unit }, id === undefined ? {} : { id })
  return (await world.post(asked)).status
}

const colourOf = async (world: World) => (await view(world)).settings.colour

const endsAs = (world: World, name: string, status: Record<string, unknown>) =>
  world.api.handle({
    method: 'PATCH',
    path: `/api/v1/namespaces/${NAMESPACE}/pods/${name}/status`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ status }),
  })

const WAYS: readonly (readonly [string, (world: World, name: string) => unknown])[] = [
  ['is deleted', (world) => scaleTo(world, 1)],
  ['is evicted', (world, name) => endsAs(world, name, { phase: 'Failed', reason: 'Evicted' })],
  ['has ended', (world, name) => endsAs(world, name, { phase: 'Succeeded' })],
  [
    'is being deleted',
    (world, name) => {
      patch(world, 'Pod', { metadata: { finalizers: ['test/held'] } }, name)
      return remove(world, 'Pod', name)
    },
  ],
]

describe.each(WORKLOADS)('%s', (_, start) => {
  describe.each(WAYS)('whose leader’s pod %s, which nobody tells', (__, end) => {
    test('has no leader, and what another unit asks for waits for the next one, and is done once', async () => {
      const world = await start()
      const [second, first] = [nameAt(world, 0), nameAt(world, 1)]
      await elect(world, first, 1)
      expect((await view(world)).leader?.epoch).toBe(1)
      end(world, first)
      expect(await ask(world, second, 'blue', 'asked')).toBe(200)
      expect(await view(world)).not.toHaveProperty('leader')
      expect(await colourOf(world)).toBeUndefined()
      await elect(world, second, 2)
      expect(await colourOf(world)).toBe('blue')
      expect(await ask(world, second, 'red')).toBe(200)
      expect(await ask(world, second, 'blue', 'asked')).toBe(200)
      expect(await colourOf(world)).toBe('red')
    })
  })

  test('follows a Lease that was made anew, and not what is still said of the former', async () => {
    const world = await start()
    const [first, second] = [nameAt(world, 0), nameAt(world, 1)]
    await elect(world, first, 7)
    await elect(world, second, 0, 'anew', '2026-02-01T00:00:00Z')
    expect(await elect(world, first, 8)).toMatchObject({
      status: 'stale',
      messages: [expect.stringContaining('a Lease that was recreated since')],
    })
    expect([await ask(world, second, 'blue'), await colourOf(world)]).toEqual([200, 'blue'])
    await elect(world, first, 1, 'anew', '2026-02-01T00:00:00Z')
    expect([await ask(world, first, 'red'), await colourOf(world)]).toEqual([200, 'red'])
  })

  test('is not locked by a huge epoch', async () => {
    const world = await start()
    const [first, second] = [nameAt(world, 0), nameAt(world, 1)]
    await world.send('leader-elected', { unit: first, epoch: 3 })
    await world.send('leader-elected', { unit: first, epoch: Number.MAX_SAFE_INTEGER })
    await world.send('leader-elected', { unit: second, epoch: 4 })
    expect((await view(world)).leader?.epoch).toBe(4)
    expect([await ask(world, second, 'blue'), await colourOf(world)]).toEqual([200, 'blue'])
  })

  test('is not locked by the epoch of a unit that is gone', async () => {
    const world = await start()
    const [first, second] = [nameAt(world, 0), nameAt(world, 1)]
    await world.send('leader-elected', { unit: first, epoch: 9 })
    endsAs(world, first, { phase: 'Failed' })
    await world.send('leader-elected', { unit: second, epoch: 4 })
    expect((await view(world)).leader?.epoch).toBe(4)
  })

  test('waits for a leader whose pod is not there yet', async () => {
    const world = await start()
    await world.send('leader-elected', { unit: 'web/7', epoch: 1 })
    expect(await view(world)).not.toHaveProperty('leader')
    expect([await ask(world, 'web/7', 'blue'), await colourOf(world)]).toEqual([200, undefined])
    scaleTo(world, 8)
    await world.send('resync', {})
    expect(await colourOf(world)).toBe('blue')
  })

  test('whose only pod asks for something is led by it, where nobody was ever elected', async () => {
    const world = await start()
    for (const unit of new Set(['web/0', ...(await unitsOf(world))]))
      expect([await ask(world, unit, 'blue'), await colourOf(world)]).toEqual([200, undefined])
    scaleTo(world, 1)
    await world.send('resync', {})
    expect((await view(world)).leader?.unit).toBe((await unitsOf(world))[0])
    expect(await colourOf(world)).toBe('blue')
  })

  test('loses the unit of a pod that is told to be gone', async () => {
    const world = await start()
    for (const pod of pods(world)) await world.post(fromApiServer('add', pod))
    const gone = podAt(world, 0)
    remove(world, 'Pod', gone.metadata.name)
    const response = await world.post(fromApiServer('delete', gone))
    expect(await response.json()).toMatchObject({ application: 'web' })
    expect(JSON.stringify(world.memory()?.state.units)).toContain(`{"uid":"${gone.metadata.uid}"`)
    expect((await view(world)).units.map(({ uid }) => uid)).not.toContain(gone.metadata.uid)
  })
})

test('the pod of a Deployment that holds a Lease is the leader, however many digits its name ends in', async () => {
  const world = createWorld([workload('Deployment')])
  const { metadata, spec } = podAt(world, 0)
  const { namespace, labels, ownerReferences, generateName } = metadata
  const name = `${generateName}24567`
  world.api.handle({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/pods`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels, ownerReferences },
      spec,
    }),
  })
  patch(world, 'Deployment', { spec: { replicas: 3 } })
  await world.send('config-changed', { config: {} })
  expect(await elect(world, `${name}_5f1c`, 0)).toMatchObject({ application: 'web' })
  const { leader, units } = await view(world)
  expect(leader?.unit).toBe(units.find(({ pod }) => pod === name)?.unit)
  expect(Number(leader?.unit.split('/')[1])).toBeLessThan(3)
  expect([await ask(world, name, 'blue'), await colourOf(world)]).toEqual([200, 'blue'])
})

describe('an application that was removed and has a config again', () => {
  test.each(['Deployment', 'StatefulSet'] as const)('knows the units of a %s of others', async (kind) => {
    const world = await ofOthers(kind)
    scale(world, 2, kind)
    await world.send('application-removed', {})
    await world.send('config-changed', { config: {} })
    for (const pod of pods(world)) await world.post(fromApiServer('add', pod))
    await world.send('resync', {})
    expect((await view(world)).units).toHaveLength(2)
  })
})
