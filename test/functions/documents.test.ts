import { describe, expect, test } from 'vitest'
import { createWorld, meshRelation } from '../helpers/world.ts'

const kept = (id: number, labels: Record<string, string>) => ({ ...meshRelation(labels, id), document: 'mesh' })

describe('a relation that is kept in a document', () => {
  test('is given up when the document names another one', async () => {
    const world = createWorld()
    await world.send('relation-changed', kept(8, { old: '1' }))
    await world.send('relation-changed', kept(9, { mesh: 'on' }))
    expect(world.labels().template).not.toHaveProperty('old')
    expect(Object.keys(world.memory()?.state.relations as object)).toEqual(['9'])
  })

  test('goes with the document, whatever that says by then', async () => {
    const world = createWorld()
    await world.send('relation-changed', kept(8, { mesh: 'on' }))
    await world.send('relation-changed', meshRelation({ other: '1' }, 7))
    await world.send('relation-broken', { document: 'mesh' })
    expect(world.labels().template).not.toHaveProperty('mesh')
    expect(world.labels().template).toHaveProperty('other')
  })

  test('is not touched by the end of a document that is not known', async () => {
    const world = createWorld()
    await world.send('relation-changed', kept(8, { mesh: 'on' }))
    expect((await world.send('relation-broken', { document: 'another' })).status).toBe('unchanged')
    expect(world.labels().template).toHaveProperty('mesh')
  })

  test('is not brought back by what the document said before', async () => {
    const world = createWorld()
    const at = (sequence: string) => ({ extensions: { sequence } })
    await world.send('relation-changed', kept(8, { mesh: 'on' }), at('2'))
    expect((await world.send('relation-changed', kept(7, { old: '1' }), at('1'))).status).toBe('stale')
    await world.send('relation-broken', { document: 'mesh', relation: { id: 8 } }, at('3'))
    expect((await world.send('relation-changed', kept(7, { old: '1' }), at('1'))).status).toBe('stale')
    expect(world.memory()?.labels).toEqual({})
  })

  test('stays when another document has taken it over, and the former one is deleted', async () => {
    const world = createWorld()
    await world.send('relation-changed', kept(7, { mesh: 'on' }))
    await world.send('relation-changed', { ...kept(7, { mesh: 'on' }), document: 'renamed' })
    await world.send('relation-broken', { document: 'mesh', relation: { id: 7 } })
    expect(world.labels().template).toHaveProperty('mesh')
  })

  test('that is named by nothing is refused', async () => {
    await expect(createWorld().send('relation-broken', {})).rejects.toThrow(/400 .*expected the id of the relation/)
  })
})
