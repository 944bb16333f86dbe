import { describe, expect, test } from 'vitest'
import { FULL_BYTES } from '../../../src/core/state/memory.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { relationsById } from '../../helpers/relations.ts'
import { createWorld, event, type World } from '../../helpers/world.ts'

const ports = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const padding = (length: number) => ({ note: 'x'.repeat(length) })

const config = (count: number, length = 880_000) => ({
  application: 'web',
  config: {
    labels: padding(length),
    policies: [{ type: 'app', relation: 'use', endpoints: [{ ports: ports(count) }] }],
  },
})

const WEB = { application: 'web' }

const user = (id: number) => related(id, 'use', { application: `user-${id}` }, WEB)

type Answer = { status: number; message?: string; messages?: string[] }

const answer = async (world: World, type: string, data: Record<string, unknown>): Promise<Answer> => {
  const response = await world.post(event(type, data))
  const body = (await response.json()) as Answer
  return { ...body, status: response.status }
}

const told = async (world: World, type: string, data: Record<string, unknown>) =>
  (await answer(world, type, data)).status

const stored = (world: World): Record<string, unknown> => world.memory('web')?.state ?? {}

const published = (world: World): string => JSON.stringify(stored(world).published)

const bytesOf = (world: World): number =>
  Object.values(world.object('ConfigMap', 'juju-service-mesh-web-labels')?.data ?? {}).join('').length

/** `web` asks its beacon for the policies of two users, which is nearly all that there is room for. */
const createFull = async (): Promise<World> => {
  const world = createWorld()
  await world.send('config-changed', config(3_000))
  await world.send('relation-changed', requires(7, WEB))
  for (const id of [1, 2]) await world.send('relation-changed', user(id))
  return world
}

const NO_ROOM = expect.stringMatching(
  /^relation 7 \(service-mesh\) with beacon: what is to be published there does not fit, .* what was published before stays$/,
)

describe('what an application would publish beyond the room of its memory', () => {
  test('what an application would publish beyond the room of its memory stays as it was, while the relation that asks for it is remembered', async () => {
    const world = await createFull()
    const before = published(world)
    for (const id of [3, 4])
      expect(await answer(world, 'relation-changed', user(id))).toMatchObject({
        ...{ status: 200, messages: expect.arrayContaining([NO_ROOM]) },
      })
    expect(Object.keys(relationsById(stored(world)))).toEqual(['1', '2', '3', '4', '7'])
    expect(published(world)).toBe(before)
  })

  test('what an application would publish beyond the room of its memory is told by each event, as long as it is so', async () => {
    const world = await createFull()
    await world.send('relation-changed', user(3))
    expect(await world.send('resync', WEB)).toMatchObject({
      status: 'waiting',
      messages: expect.arrayContaining([NO_ROOM]),
    })
  })

  test('what an application would publish beyond the room of its memory is published once there is room', async () => {
    const world = await createFull()
    await world.send('relation-changed', user(3))
    expect(await answer(world, 'config-changed', config(20, 0))).toMatchObject({
      status: 200,
      messages: expect.not.arrayContaining([NO_ROOM]),
    })
    expect(published(world)).toContain('user-3')
  })

  test('what an application would publish beyond the room of its memory is published once others are over', async () => {
    const world = await createFull()
    await world.send('relation-changed', user(3))
    expect(await answer(world, 'relation-broken', { ...WEB, relation: { id: 1 } })).toMatchObject({
      ...{ status: 200, messages: expect.not.arrayContaining([NO_ROOM]) },
    })
    expect(published(world)).toContain('user-3')
    expect(published(world)).not.toContain('user-1')
  })

  test('what an application would publish beyond the room of its memory leaves a config that asks for it in effect, as far as there is room', async () => {
    const world = await createFull()
    const before = published(world)
    expect(await answer(world, 'config-changed', config(4_000))).toMatchObject({
      status: 200,
      messages: expect.arrayContaining([NO_ROOM]),
    })
    expect(published(world)).toBe(before)
    expect(await answer(world, 'config-changed', { ...WEB, config: {} })).toMatchObject({
      status: 200,
      messages: expect.not.arrayContaining([NO_ROOM]),
    })
    expect(published(world)).not.toContain('3000')
  })

  test('what an application would publish beyond the room of its memory refuses a config that does not fit itself, with all that is published', async () => {
    const world = await createFull()
    const before = stored(world)
    const tooLarge = { status: 413, message: expect.stringMatching(/^the memory of web would have \d+ bytes, at most/) }
    expect(await answer(world, 'config-changed', config(65_535))).toMatchObject(tooLarge)
    expect(stored(world)).toEqual(before)
  })

  test('what an application would publish beyond the room of its memory leaves room for smaller things that are published', async () => {
    const world = await createFull()
    await world.send('relation-changed', user(3))
    const settings = { application: 'web', databag: { info: { color: 'blue' } } }
    await world.send('relation-changed', related(9, 'info', { application: 'reader' }, WEB))
    await world.send('config-changed', { ...config(3_000), ...settings })
    expect(published(world)).toContain('blue')
  })
})

const document = (id: number, text: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `document-${id}`, namespace: 'shop', labels: { 'meshstep.dev/kind': 'relation' } },
  data: {
    application: 'web',
    relation: JSON.stringify({ id, endpoint: 'use', interface: 'http', role: 'provides' }),
    remote: JSON.stringify({ application: `user-${id}`, data: { text } }),
  },
})

describe('a memory at its bound', () => {
  /** The last events leave less room than the end of a relation takes. */
  const fill = async (world: World): Promise<void> => {
    const padded = (length: number) => ({ ...WEB, config: { labels: padding(length) } })
    for (const id of [1, 2]) await world.send('relation-changed', user(id))
    await world.send('config-changed', padded(900_000))
    const left = FULL_BYTES - bytesOf(world)
    let length = 900_000 + left
    while ((await told(world, 'config-changed', padded(length))) !== 200) length -= 1
  }

  test('a memory at its bound takes the end of a relation, and the removal of the application', async () => {
    const world = createWorld()
    await fill(world)
    expect(FULL_BYTES - bytesOf(world)).toBeLessThan(16)
    const another = { application: 'web', config: { labels: padding(983_000) } }
    expect(await told(world, 'config-changed', another)).toBe(413)
    expect(await told(world, 'relation-broken', { ...WEB, relation: { id: 1 } })).toBe(200)
    expect(relationsById(stored(world))).toMatchObject({ 1: { status: 'ended' } })
    expect(await told(world, 'relation-changed', user(3))).toBe(413)
    expect(await told(world, 'application-removed', WEB)).toBe(200)
    expect(bytesOf(world)).toBeLessThan(10_000)
  })

  test('a memory at its bound holds the documents that fit, says of the others that they do not, and takes other events', async () => {
    const world = createWorld()
    for (const id of [1, 2]) world.api.seed([document(id, 'x'.repeat(600_000))], { manager: 'kubectl' })
    const tooLarge =
      /^ConfigMap shop\/document-2: the memory of web would have \d+ bytes, at most .*; what it said before stays$/
    expect(await answer(world, 'resync', WEB)).toMatchObject({
      ...{ status: 200, messages: expect.arrayContaining([expect.stringMatching(tooLarge)]) },
    })
    expect(await answer(world, 'relation-changed', { ...user(2), document: 'document-2' })).toMatchObject({
      ...{ status: 413, message: expect.stringMatching(tooLarge) },
    })
    expect(await told(world, 'relation-changed', user(3))).toBe(200)
    expect(Object.keys(relationsById(stored(world)))).toEqual(['1', '3'])
    world.api.handle({
      ...{ method: 'PUT', path: '/api/v1/namespaces/shop/configmaps/document-2', headers: {} },
      body: JSON.stringify(document(2, 'short')),
    })
    expect(await told(world, 'resync', WEB)).toBe(200)
    expect(Object.keys(relationsById(stored(world)))).toEqual(['1', '2', '3'])
  })
})
