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
})
