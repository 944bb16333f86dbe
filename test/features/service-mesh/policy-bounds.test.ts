import { describe, expect, test } from 'vitest'
import { ask, BEACON, configure, createMesh, policiesIn, sourcesOf } from '../../helpers/beacon-world.ts'

describe('10,000 policies in one databag', () => {
  const D = { namespace: 's', application: 'd' }
  const short = Array.from({ length: 10_000 }, (_, index) => ({
    source_namespace: 's',
    source_app_name: `a${index}`,
    target_namespace: 's',
    target_app_name: 'd',
  }))

  const createGranted = async () => {
    const world = createMesh([], false)
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 's' } }])
    await configure(world, { mesh: {} })
    await ask(world, short, D)
    return world
  }

  test('10,000 policies in one databag are granted, in one step and in one object', async () => {
    const world = await createGranted()
    expect(policiesIn(world)).toHaveLength(1)
    expect(sourcesOf(policiesIn(world))).toHaveLength(10_000)
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('of which none is right: the first are named, and the rest counted', async () => {
    const world = await createGranted()
    const { messages } = await ask(
      world,
      short.map(() => 'x'),
      D,
    )
    expect([messages.length, messages[0], messages.at(-1)]).toEqual([
      21,
      'relation 7 (service-mesh) of s/d: policies[0]: expected a policy: an object, got "x"',
      'and 9980 more messages',
    ])
    expect(policiesIn(world)).toEqual([])
  })

  test('10,000 policies in one databag that do not fit into the memory are refused, and what was granted stays', async () => {
    const world = await createGranted()
    const long = short.map((policy) => ({ ...policy, source_namespace: 'a-longer-name' }))
    const { status, messages } = await ask(world, long, D)
    expect(status).toBe('waiting')
    expect(messages).toEqual([
      expect.stringMatching(
        /^relation 7 \(service-mesh\) with d: the memory of beacon would have \d+ bytes, .*; what was told before stays$/,
      ),
    ])
    expect(sourcesOf(policiesIn(world))).toHaveLength(10_000)
  })

  test('10,000 policies in one databag for which there is no room leave their relation without policies, and the others as they are', async () => {
    const world = await createGranted()
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 't' } }])
    const { messages } = await ask(world, short, { id: 8, namespace: 't', application: 'd' })
    expect(messages).toEqual([expect.stringMatching(/^relation 8 \(service-mesh\) with d: the memory of beacon/)])
    expect(sourcesOf(policiesIn(world))).toHaveLength(10_000)
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })
})
