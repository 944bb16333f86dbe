import { describe, expect, test } from 'vitest'
import { relationsById } from '../helpers/relations.ts'
import { createWorld, meshRelation, NAMESPACE, type World } from '../helpers/world.ts'

const kept = (id: number, labels: Record<string, string>) => ({ ...meshRelation(labels, id), document: 'mesh' })

const toldIn = (world: World): string[] =>
  Object.entries(relationsById(world.memory()?.state)).flatMap(([id, { status }]) =>
    status === 'established' ? [id] : [],
  )

/** The ConfigMap that a relation is kept in. */
const stored = ({ relation, remote, document }: ReturnType<typeof kept>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: document, namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'relation' } },
  data: { application: 'web', relation: JSON.stringify(relation), remote: JSON.stringify(remote) },
})

const remove = (world: World, name = 'mesh') =>
  world.api.handle({ method: 'DELETE', path: `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`, headers: {} })

/** Writes the ConfigMap, and sends its event. */
const tell = async (world: World, told: ReturnType<typeof kept>, attributes = {}) => {
  remove(world, told.document)
  world.api.seed([stored(told)], { manager: 'kubectl' })
  return await world.send('relation-changed', told, attributes)
}

/** Deletes the ConfigMap, and sends its event. */
const erase = async (world: World, data: { document: string; relation?: { id: number } }, attributes = {}) => {
  remove(world, data.document)
  return await world.send('relation-broken', data, attributes)
}

const at = (sequence: string) => ({ extensions: { sequence } })
const atTime = (second: string) => ({ time: `2026-01-01T00:00:0${second}Z` })

describe('a relation that is kept in a document', () => {
  test('a relation that is kept in a document is given up when the document names another one', async () => {
    const world = createWorld()
    await tell(world, kept(8, { 'istio.io/use-waypoint-namespace': '1' }))
    await tell(world, kept(9, { 'istio.io/use-waypoint': 'on' }))
    expect(world.labels().template).not.toHaveProperty(['istio.io/use-waypoint-namespace'])
    expect(toldIn(world)).toEqual(['9'])
  })

  test('a relation that is kept in a document goes with the document, whatever that says by then', async () => {
    const world = createWorld()
    await tell(world, kept(8, { 'istio.io/use-waypoint': 'on' }))
    await world.send('relation-changed', meshRelation({ 'istio.io/ingress-use-waypoint': '1' }, 7))
    await erase(world, { document: 'mesh' })
    expect(world.labels().template).not.toHaveProperty(['istio.io/use-waypoint'])
    expect(world.labels().template).toHaveProperty(['istio.io/ingress-use-waypoint'])
  })

  test('a relation that is kept in a document is not touched by the end of a document that is not known', async () => {
    const world = createWorld()
    await tell(world, kept(8, { 'istio.io/use-waypoint': 'on' }))
    expect((await erase(world, { document: 'another' })).status).toBe('unchanged')
    expect(world.labels().template).toHaveProperty(['istio.io/use-waypoint'])
  })

  test('a relation that is kept in a document is what the document says now, whatever a late event says of it', async () => {
    const world = createWorld()
    const now = kept(8, { 'istio.io/use-waypoint': 'on' })
    await tell(world, now, at('2'))
    expect(
      (await world.send('relation-changed', kept(7, { 'istio.io/use-waypoint-namespace': '1' }), at('1'))).status,
    ).toBe('unchanged')
    expect([toldIn(world), world.memory()?.labels]).toEqual([['8'], { 'istio.io/use-waypoint': 'on' }])
  })

  test.each([
    ['by sequence', '8', at],
    ['by time', '8', atTime],
    ['by sequence, with another relation', '7', at],
    ['by time, with another relation', '7', atTime],
  ])(
    'a relation that is kept in a document is not brought back by what the document said before it was deleted: %s, relation %s',
    async (_, id, when) => {
      const world = createWorld()
      world.clock.advance(60_000)
      await tell(world, kept(8, { 'istio.io/use-waypoint': 'on' }), when('2'))
      await erase(world, { document: 'mesh', relation: { id: 8 } }, when('4'))
      expect(
        (await world.send('relation-changed', kept(Number(id), { 'istio.io/use-waypoint-namespace': '1' }), when('3')))
          .status,
      ).toBe('stale')
      expect([toldIn(world), world.memory()?.labels]).toEqual([[], {}])
    },
  )

  test.each([
    ['by sequence', at],
    ['by time', atTime],
  ])(
    'a relation that is kept in a document ends with that, though the word of its end is late: %s',
    async (_, when) => {
      const world = createWorld()
      world.clock.advance(60_000)
      await tell(world, kept(8, { 'istio.io/use-waypoint': 'on' }), when('4'))
      expect((await erase(world, { document: 'mesh', relation: { id: 8 } }, when('2'))).status).toBe('changed')
      expect([toldIn(world), world.memory()?.labels]).toEqual([[], {}])
    },
  )

  test('a relation that is kept in a document stays when another document has taken it over, and the former one is deleted', async () => {
    const world = createWorld()
    await tell(world, kept(7, { 'istio.io/use-waypoint': 'on' }))
    await tell(world, { ...kept(7, { 'istio.io/use-waypoint': 'on' }), document: 'renamed' })
    await erase(world, { document: 'mesh', relation: { id: 7 } })
    expect(world.labels().template).toHaveProperty(['istio.io/use-waypoint'])
  })

  test('a relation that is kept in a document stays, whatever is told late of another one that declared it too and is gone', async () => {
    const world = createWorld()
    await tell(world, kept(7, { 'istio.io/use-waypoint': 'on' }))
    await world.send('relation-changed', { ...kept(7, { 'istio.io/use-waypoint': 'on' }), document: 'gone' })
    expect([toldIn(world), world.labels().template]).toMatchObject([['7'], { 'istio.io/use-waypoint': 'on' }])
  })

  test('a relation that is kept in a document and that is named by nothing is refused', async () => {
    await expect(createWorld().send('relation-broken', {})).rejects.toThrow(/400 .*expected the id of the relation/)
  })
})
