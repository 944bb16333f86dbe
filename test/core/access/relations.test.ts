import { describe, expect, test } from 'vitest'
import { TENANT } from '../../helpers/tenant-documents.ts'
import { config, createTenants, erase, relation, remove, resync, send, write } from '../../helpers/tenants.ts'
import { event, type World } from '../../helpers/world.ts'

const DATABASE = { id: 3, endpoint: 'db', interface: 'sql', role: 'requires' } as const
const MINE = { ...DATABASE, endpoint: 'clients', role: 'provides' } as const

/** `b` is related to `a` by a document of an administrator; the tenant may update `a` alone. */
const createRelated = async (...rights: string[]): Promise<World> => {
  const all = ['admin: a', 'admin: b', 'admin: beacon', `${TENANT}: a`, ...rights.map((right) => `${TENANT}: ${right}`)]
  const world = createTenants(new Set(all), { isOwnSink: true })
  await write(world, relation('{ application: a, data: {} }', { name: 'of-b', author: 'admin' }, 'b', DATABASE))
  return world
}

/** What a side remembers of its relations. */
const statusesOf = (world: World, application: string): unknown[] =>
  Object.values((world.memory(application)?.state.relations ?? {}) as Record<string, { status: string }>).map(
    ({ status }) => status,
  )

const forget = (world: World, application: string) => remove(world, `juju-service-mesh-${application}-labels`)

const ended = (data: Record<string, unknown>) => event('relation-broken', { application: 'a', ...data })

describe('a sender for one side of a relation ends nothing that the document of the other side says', () => {
  test.each<[string, Record<string, unknown>]>([
    ['by its id', { relation: { id: 3 } }],
    ['by all that there is to say of it', { relation: MINE, remote: { application: 'b' } }],
  ])('%s', async (_, data) => {
    const world = await createRelated()
    const before = JSON.stringify([world.memory('a'), world.memory('b')])
    expect([statusesOf(world, 'a'), statusesOf(world, 'b')]).toEqual([['established'], ['established']])
    const { status, text } = await send(world, ended(data))
    expect({ status, text }).toEqual({ status: 403, text: expect.stringContaining('applications.meshstep.dev shop/b') })
    expect(JSON.stringify([world.memory('a'), world.memory('b')])).toBe(before)
  })

  test('a sender for one side of a relation ends nothing that the document of the other side says, nor by the name of that document', async () => {
    const world = await createRelated()
    await send(world, ended({ relation: MINE, document: 'of-b' }))
    await resync(world)
    expect([statusesOf(world, 'a'), statusesOf(world, 'b')]).toEqual([['established'], ['established']])
  })

  test('a sender for one side of a relation ends nothing that the document of the other side says, also where its own memory was lost', async () => {
    const world = await createRelated()
    forget(world, 'a')
    for (const data of [
      { relation: MINE, remote: { application: 'b' } },
      { relation: { id: 3 }, remote: { application: 'b' } },
    ])
      expect((await send(world, ended(data))).status).toBe(403)
    await resync(world)
    expect([statusesOf(world, 'a'), statusesOf(world, 'b')]).toEqual([['established'], ['established']])
  })

  test('who may update both sides ends it', async () => {
    const world = await createRelated('b')
    expect((await send(world, ended({ relation: { id: 3 } }))).status).toBe(200)
    expect(statusesOf(world, 'a')).toEqual(['ended'])
  })

  test('who may update one application removes that', async () => {
    const world = await createRelated()
    expect((await send(world, event('application-removed', { application: 'a' }))).status).toBe(200)
    expect(statusesOf(world, 'b')).toEqual(['established'])
  })

  test('the end of a relation that nobody knows holds up none between others that has its id', async () => {
    const world = await createRelated()
    const other = { relation: { ...DATABASE, id: 4 }, remote: { application: 'beacon', data: {} } }
    const time = new Date(world.clock.now() + 4 * 60_000).toISOString()
    await send(world, ended({ relation: { id: 4 } }), time)
    const { status } = await world.post({
      ...event('relation-changed', { application: 'b', ...other }),
      time: new Date(world.clock.now()).toISOString(),
    })
    expect([status, statusesOf(world, 'b')]).toEqual([200, ['established', 'established']])
  })
})

test('a sender for one application announces no relation of it with another', async () => {
  const world = await createRelated()
  const told = { application: 'a', relation: { ...MINE, id: 9 }, remote: { application: 'beacon', data: {} } }
  expect((await send(world, event('relation-changed', told))).status).toBe(403)
  expect([statusesOf(world, 'a'), statusesOf(world, 'beacon')]).toEqual([['established'], []])
  expect((await write(world, config('{}'))).status).toBe(200)
})

describe('a document that is deleted ends no more than it held, or than its author may end', () => {
  const TOLD = { application: 'b', relation: DATABASE, remote: { application: 'a', data: {} } }
  const b = '{ application: b, data: {} }'

  /** The platform told `b` of its relation to `a`, by an event. */
  const createTold = async (...rights: string[]) => {
    const all = new Set([`${TENANT}: a`, ...rights.map((right) => `${TENANT}: ${right}`)])
    const world = createTenants(all, { isOwnSink: true })
    await world.post(event('relation-changed', TOLD))
    expect([statusesOf(world, 'a'), statusesOf(world, 'b')]).toEqual([['established'], ['established']])
    return { world, rights: all }
  }

  test.each<[string, string, typeof MINE | { id: number }]>([
    ['named whole', b, MINE],
    ['named by its id and the other side', b, { id: 3 }],
    ['named by its id alone', '{', { id: 3 }],
  ])('one that was refused ends no relation of others, %s', async (_, remote, about) => {
    const { world } = await createTold()
    await write(world, relation(remote, {}, 'a', about as typeof MINE))
    const { status, text } = await erase(world, 'document')
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('"status":"unchanged"') })
    await resync(world)
    expect([statusesOf(world, 'a'), statusesOf(world, 'b')]).toEqual([['established'], ['established']])
  })

  test('a document that is deleted ends no more than it held, or than its author may end, nor where the memory of its application was lost', async () => {
    const { world } = await createTold()
    await write(world, relation(b, {}, 'a', MINE))
    forget(world, 'a')
    expect((await erase(world, 'document')).status).toBe(200)
    await resync(world)
    expect([statusesOf(world, 'a'), statusesOf(world, 'b')]).toEqual([['established'], ['established']])
  })

  test('a document that is deleted ends no more than it held, or than its author may end, nor one that names no author', async () => {
    const { world } = await createTold('b')
    await write(world, relation(b, { author: undefined }, 'a', MINE))
    expect((await erase(world, 'document')).status).toBe(200)
    expect([statusesOf(world, 'a'), statusesOf(world, 'b')]).toEqual([['established'], ['established']])
  })

  test('one that was taken ends what it said, though its author may say that no more', async () => {
    const { world, rights } = await createTold('b')
    await write(world, relation(b, {}, 'a', MINE))
    rights.delete(`${TENANT}: b`)
    world.clock.advance(11_000)
    expect((await erase(world, 'document')).status).toBe(200)
    expect(statusesOf(world, 'a')).toEqual(['ended'])
  })

  test('one that nobody remembers is over where its author may end it', async () => {
    const { world } = await createTold('b')
    await write(world, relation(b, {}, 'a', MINE))
    forget(world, 'a')
    forget(world, 'b')
    expect((await erase(world, 'document')).status).toBe(200)
    expect(statusesOf(world, 'a')).toEqual(['ended'])
  })
})
