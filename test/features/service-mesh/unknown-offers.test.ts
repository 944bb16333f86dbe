import { beforeEach, describe, expect, test } from 'vitest'
import { memoryName } from '../../../src/core/state/memory.ts'
import { configure, createMesh, objectsOf, provides, related, requires } from '../../helpers/beacon-world.ts'
import { FORBIDDEN, isWrite, MESH_LABELS, NAMESPACE, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const MEMORY = `/api/v1/namespaces/${NAMESPACE}/configmaps/${memoryName('beacon')}`
const POLICIES = { policies: [{ type: 'app', relation: 'web', endpoints: [{ ports: [80] }] }] }

const namesOf = (world: World) => objectsOf(world, 'AuthorizationPolicy').map(({ metadata }) => metadata.name)

const enrolled = (world: World) => {
  const { template } = world.object('StatefulSet', 'db')?.spec ?? {}
  return (template as { metadata: { labels: object } }).metadata.labels
}

/** The relation of `db` with the beacon, as a platform tells it that has the beacon's databag. */
const toldWith = (data: object) => {
  const { remote, ...told } = requires(7, DB)
  return { ...told, remote: { ...(remote as object), data } }
}

/** Changes the offer in the beacon's memory. */
const editOffer = (world: World, edit: (offer: { version: number; mesh: Record<string, unknown> }) => void) => {
  const state = JSON.parse(world.object('ConfigMap', memoryName('beacon'))?.data?.state ?? '{}')
  for (const { data } of Object.values<{ data: Record<string, string> }>(state.published)) {
    const offer = JSON.parse(data.offer ?? '{}')
    edit(offer)
    data.offer = JSON.stringify(offer)
    data.data = JSON.stringify({ ...JSON.parse(data.data ?? '{}'), offer })
  }
  world.api.handle({
    ...{ method: 'PATCH', path: `${MEMORY}?fieldManager=newer` },
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ data: { state: JSON.stringify(state) } }),
  })
}

const createJoined = async (): Promise<World> => {
  const world = createMesh(['db'])
  await configure(world, { mesh: {} })
  await configure(world, POLICIES, DB)
  await world.send('relation-changed', related(3, 'web', { application: 'web' }, DB))
  await world.send('relation-changed', toldWith({}))
  return world
}

describe('an offer that cannot be read', () => {
  let world: World
  let before: string[]

  beforeEach(async () => {
    world = await createJoined()
    before = namesOf(world)
    expect(before).not.toEqual([])
  })

  test('a key that a newer program adds to an offer changes nothing', async () => {
    editOffer(world, ({ mesh }) => {
      mesh.newer = true
    })
    expect(await world.send('resync', DB)).toMatchObject({ status: 'unchanged' })
    expect(namesOf(world)).toEqual(before)
  })

  test('an offer of a newer version leaves policies and labels as they are, and the step says so', async () => {
    editOffer(world, (offer) => {
      offer.version = 2
    })
    const { status, messages } = await world.send('resync', DB)
    expect([status, messages.join()]).toEqual(['waiting', expect.stringContaining('offer: expected version 1, got 2')])
    expect([namesOf(world), enrolled(world)]).toEqual([before, expect.objectContaining(MESH_LABELS)])
  })

  test('a value of an offer that is not known leaves the policies as they are', async () => {
    editOffer(world, ({ mesh }) => {
      mesh.guard = 'another'
    })
    const { messages } = await world.send('resync', DB)
    expect(messages.join()).toContain('its policies stay')
    expect(namesOf(world)).toEqual(before)
  })
})

describe('a beacon whose databag the platform tells as well', () => {
  const DATABAG = { labels: JSON.stringify(MESH_LABELS), mesh_type: 'istio' }

  test('a beacon that has a memory is asked for its offer, and no label comes before the policies', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await configure(world, POLICIES, DB)
    await world.send('relation-changed', related(3, 'web', { application: 'web' }, DB))
    world.calls.length = 0
    await world.send('relation-changed', toldWith(DATABAG))
    const written = world.calls
      .filter(isWrite)
      .flatMap((call) => ['authorizationpolicies', 'statefulsets'].filter((part) => call.includes(part)))
    expect([written.at(0), written.at(-1)]).toEqual(['authorizationpolicies', 'statefulsets'])
  })

  test('a beacon that has lost its memory leaves the policies and labels of its consumers, whatever the platform says', async () => {
    const world = await createJoined()
    await world.send('relation-changed', toldWith(DATABAG))
    const before = namesOf(world)
    world.api.handle({ method: 'DELETE', path: MEMORY, headers: {} })
    expect(await world.send('resync', DB)).toMatchObject({ status: 'waiting' })
    expect([namesOf(world), enrolled(world)]).toEqual([before, expect.objectContaining(MESH_LABELS)])
  })
})

describe('a consumer whose memory the beacon may not read', () => {
  const createHidden = async (): Promise<World> => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    world.intercept = ({ method, path }) =>
      method === 'GET' && path.includes(memoryName('db')) ? FORBIDDEN : undefined
    await world.send('relation-changed', provides(7, DB, undefined))
    return world
  }

  test('a consumer whose memory may not be read is waited for before all else is denied', async () => {
    const world = await createHidden()
    const { messages } = await configure(world, { mesh: { hardened: true } })
    expect(messages.join()).toContain('hardened mode waits for the policies of shop/db')
    expect(namesOf(world).filter((name) => name.includes('global-allow-nothing'))).toEqual([])
  })

  test('a consumer whose memory may not be read may carry labels, so the waypoint stays for it', async () => {
    const world = await createHidden()
    await configure(world, {})
    expect(objectsOf(world, 'Gateway')).toHaveLength(1)
  })
})
