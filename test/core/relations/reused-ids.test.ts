import { describe, expect, test } from 'vitest'
import { lintOf } from '../answers.ts'
import {
  atEveryWrite,
  calm,
  createStarted,
  effects,
  endRelation,
  MESH,
  resync,
  tellRelation,
  WORKING,
  word,
} from './pair.ts'

const OTHER = { ...MESH, requirer: 'reviews' }

const IN_USE = (id: number, between: string, side: string, holder: string): string =>
  `relation ${id} (service-mesh) with ${between} does not count, as ${side} has the id ${id} for ${holder} until that ends: give one of the two another id`

describe('an id that is told of another relation while the first one stands', () => {
  test.each(['beacon', 'reviews'])(
    'an id that is told of another relation while the first one stands leaves the first one as it is, and names the other at %s',
    async (side) => {
      const world = await createStarted('broker', { others: ['reviews'] })
      const seen = atEveryWrite(world, () => effects(world))
      await tellRelation(world, side, OTHER)
      for (const name of ['beacon', 'details', 'reviews']) await resync(world, name)
      expect(effects(world)).toEqual(WORKING)
      expect(seen.filter((one) => one.mesh === 'off')).toEqual([])
      const remote = side === 'beacon' ? 'shop/reviews' : 'shop/beacon'
      const { messages, applicationStatus } = await resync(world, side)
      const sentence = IN_USE(1, remote, 'shop/beacon', 'service_mesh with shop/details')
      expect(messages).toEqual([expect.stringContaining(sentence)])
      expect(applicationStatus).toEqual({ status: 'waiting', since: expect.any(String), message: sentence })
      const findings = await lintOf(world)
      expect(findings.filter(({ message }) => message.includes('does not count'))).toEqual([
        { rule: 'waiting', about: `shop/${side}`, message: expect.stringContaining(sentence) },
      ])
    },
  )

  test('an id that is told of another relation while the first one stands says nothing of it at the application that has the id', async () => {
    const world = await createStarted('broker', { others: ['reviews'] })
    await tellRelation(world, 'reviews', OTHER)
    for (const name of ['details', 'beacon']) {
      const { messages, applicationStatus } = await resync(world, name)
      expect(messages.filter((message) => message.includes('does not count'))).toEqual([])
      expect(applicationStatus).toBeUndefined()
    }
  })

  test('an id that is told of another relation while the first one stands goes to it once the first one ends, in order: un-enrolled first, then shut out', async () => {
    const world = await createStarted('broker', { others: ['reviews'] })
    const seen = atEveryWrite(world, () => effects(world))
    await tellRelation(world, 'beacon', OTHER)
    await endRelation(world, 'details', MESH)
    expect(effects(world)).toEqual({ mesh: 'off', principals: [] })
    expect(seen.filter(({ mesh, principals }) => mesh !== 'off' && principals.length === 0)).toEqual([])
    expect(world.labels('reviews').template['istio.io/dataplane-mode']).toBe('ambient')
  })

  test.each(['details', 'beacon'])(
    'an id that is told of another relation while the first one stands goes to it with a resync of %s when the one nudge is lost',
    async (name) => {
      const world = await createStarted('broker', { others: ['reviews'] })
      await tellRelation(world, 'beacon', OTHER)
      await world.post(word('relation-broken', { application: 'details', relation: { id: MESH.id } }))
      world.published.length = 0
      await resync(world, name)
      await calm(world)
      expect(effects(world)).toEqual({ mesh: 'off', principals: [] })
      expect(world.labels('reviews').template['istio.io/dataplane-mode']).toBe('ambient')
    },
  )

  test('an id that is told of another relation while the first one stands, with another interface to the same application leaves the first one as it is', async () => {
    const world = await createStarted()
    await tellRelation(world, 'details', { ...MESH, endpoint: 'x', interface: 'http' })
    await calm(world)
    for (const name of ['details', 'beacon']) {
      const { messages } = await resync(world, name)
      expect(messages.filter((message) => message.includes('waiting for the data'))).toEqual([])
    }
    expect(effects(world)).toEqual(WORKING)
    await endRelation(world, 'details', MESH, { isNamed: true })
    expect(effects(world)).toEqual({ mesh: 'off', principals: [] })
  })

  test('an id that is told of another relation while the first one stands keeps one entry for each relation that waits for it, whatever its interface, role and namespace', async () => {
    const world = await createStarted('broker', { others: ['reviews'] })
    const relation = { id: 1, endpoint: 'x', interface: 'http', role: 'requires' }
    const remotes = [
      [relation, { application: 'reviews' }],
      [{ ...relation, role: 'provides' }, { application: 'reviews' }],
      [relation, { application: 'reviews', namespace: 'elsewhere' }],
      [{ ...relation, interface: 'ftp' }, { application: 'reviews' }],
    ] as const
    for (const [told, remote] of remotes)
      await world.post(
        word('relation-changed', { application: 'details', relation: told, remote: { ...remote, data: {} } }),
      )
    expect(Object.keys(world.memory('details')?.state.relations ?? {})).toEqual([
      '1/provides/http/reviews',
      '1/requires/ftp/reviews',
      '1/requires/http/elsewhere/reviews',
      '1/requires/http/reviews',
      '1/requires/service_mesh/beacon',
      '2/provides/http/productpage',
    ])
  })

  test('an id that is told of another relation while the first one stands does not count where its other side has the id for somebody else, though nobody else has it here', async () => {
    const world = await createStarted('broker', { others: ['reviews'] })
    await tellRelation(world, 'reviews', {
      ...OTHER,
      id: 2,
      provider: 'details',
      endpoint: 'details',
      interface: 'http',
    })
    const { messages } = await resync(world, 'reviews')
    expect(messages).toEqual([
      expect.stringContaining(
        'relation 2 (details) with shop/details does not count, as shop/details has the id 2 for http with shop/productpage until that ends: give one of the two another id',
      ),
    ])
  })
})
