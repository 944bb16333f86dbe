import { describe, expect, test } from 'vitest'
import { some } from '../../helpers/runs.ts'
import type { Intercept, World } from '../../helpers/world.ts'
import {
  atEveryWrite,
  calm,
  configure,
  createPair,
  createStarted,
  DELIVERIES,
  DETAILS_CONFIG,
  effects,
  endRelation,
  isMemoryOf,
  MESH,
  principalsAt,
  resync,
  spoilMemory,
  tellRelation,
  toldTo,
  USE,
  WORKING,
  word,
} from './pair.ts'

const post = async (world: World, name: string, data: Record<string, unknown>): Promise<number> => {
  const { status } = await world.post(word(name, data))
  await calm(world)
  return status
}

/** Whatever an application is told, in the way of a platform or of a source. */
const EVENTS: readonly (readonly [name: string, data: Record<string, unknown>])[] = [
  ['resync', { application: 'details' }],
  ['config-changed', { application: 'details', config: DETAILS_CONFIG }],
  ['pod-restarted', { application: 'details', pod: { name: 'details-0', uid: 'u' } }],
  ['leader-elected', { application: 'details', unit: 'details/0' }],
]

describe.each(DELIVERIES)('with the delivery: %s', (delivery) => {
  test.each(some(EVENTS, 2))(
    'a %s is answered 200 while the memory of the beacon cannot be read, and takes nothing off',
    async (name, data) => {
      const world = await createStarted(delivery)
      spoilMemory(world, 'beacon')
      const seen = atEveryWrite(world, () => effects(world))
      expect(await post(world, name, data)).toBe(200)
      expect(seen).toEqual([WORKING])
    },
  )

  test('a relation of a third application is taken while the memory of the beacon cannot be read', async () => {
    const world = await createStarted(delivery, { others: ['reviews'] })
    spoilMemory(world, 'beacon')
    const data = toldTo('details', { ...USE, id: 8, requirer: 'reviews' })
    expect(await post(world, 'relation-changed', data)).toBe(200)
    expect(effects(world)).toEqual(WORKING)
  })

  test('the beacon grants what others ask for while the memory of one consumer cannot be read', async () => {
    const world = await createStarted(delivery)
    spoilMemory(world, 'details')
    const pages = { ...MESH, id: 40, requirer: 'productpage' }
    await configure(world, 'productpage', { policies: [{ type: 'app', relation: 'pages', endpoints: [] }] })
    await tellRelation(world, 'productpage', {
      ...USE,
      id: 41,
      endpoint: 'pages',
      requirer: 'reviews',
      provider: 'productpage',
    })
    await tellRelation(world, 'beacon', pages)
    expect(principalsAt(world, 'productpage')).toEqual(['shop/reviews'])
    expect(effects(world)).toEqual(WORKING)
  })

  test('the memory of the beacon that cannot be read is named in the answer', async () => {
    const world = await createStarted(delivery)
    spoilMemory(world, 'beacon')
    const { messages } = await resync(world, 'details')
    expect(messages.join()).toContain('shop/beacon')
  })

  test('the memory of a consumer that cannot be read is named in the answer once', async () => {
    const world = await createStarted(delivery)
    spoilMemory(world, 'details')
    const { messages } = await resync(world, 'beacon')
    expect(messages.filter((one) => one.includes('Repair data.state'))).toEqual([
      expect.stringMatching(/^relation 1 \(service-mesh\): ConfigMap shop\/juju-service-mesh-details-labels: /),
    ])
  })
})

const page = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html><h1>404 Not Found</h1></html>' }

/** A proxy in between answers with a page of its own. */
const pageFor =
  (name: string): Intercept =>
  ({ method, path }) =>
    method === 'GET' && isMemoryOf(name, path) ? page : undefined

describe('pages of a proxy', () => {
  test.each(some(EVENTS, 2))(
    'a 404 page of a proxy in place of its own memory is no answer: a %s is 503, and takes nothing off',
    async (name, data) => {
      const world = await createStarted()
      const seen = atEveryWrite(world, () => effects(world))
      world.intercept = pageFor('details')
      expect(await post(world, name, data)).toBe(503)
      world.intercept = undefined
      await resync(world, 'details')
      await resync(world, 'beacon')
      expect(seen).toEqual([WORKING])
    },
  )

  test.each(some(EVENTS, 2))(
    'a 404 page of a proxy in place of the memory of the beacon takes nothing off at a %s',
    async (name, data) => {
      const world = await createStarted()
      const seen = atEveryWrite(world, () => effects(world))
      world.intercept = pageFor('beacon')
      await post(world, name, data)
      world.intercept = undefined
      await resync(world, 'details')
      expect(seen).toEqual([WORKING])
    },
  )

  test.each(['statefulsets/details', 'services/details'])(
    'a 404 page of a proxy in place of %s does not read as its absence',
    async (place) => {
      const world = await createStarted()
      const seen = atEveryWrite(world, () => effects(world))
      world.intercept = ({ method, path }) => (method === 'GET' && path.includes(`/${place}`) ? page : undefined)
      expect(await post(world, 'resync', { application: 'details' })).toBe(503)
      world.intercept = undefined
      await resync(world, 'details')
      expect(seen).toEqual([WORKING])
    },
  )

  test('a 404 page of a proxy in place of a list of policies revokes none and opens nothing', async () => {
    const world = await createStarted()
    const seen = atEveryWrite(world, () => effects(world))
    world.intercept = ({ method, path }) => (method === 'GET' && /authorizationpolicies/.test(path) ? page : undefined)
    await world.post(word('config-changed', { application: 'beacon', config: { mesh: {} } }))
    await world.post(word('config-changed', { application: 'details', config: DETAILS_CONFIG }))
    world.intercept = undefined
    await resync(world, 'beacon')
    expect(seen).toEqual([WORKING])
  })
})

describe('a refusing sink', () => {
  /** `web` is offered a Service, and the sink does not want to hear of that. */
  const createOffer = async () => {
    const world = createPair('broker', ['web'])
    const refused: string[] = []
    world.sink = async (event) => {
      const isRefused = event.type.includes('.service-')
      if (isRefused) refused.push(event.type)
      else world.published.push(event)
      return isRefused ? 400 : 202
    }
    await configure(world, 'beacon', { mesh: {} })
    const offered = await world.post(
      word('relation-changed', {
        application: 'web',
        relation: { id: 1, endpoint: 'database', interface: 'k8s-service', role: 'requires' },
        remote: { application: 'pg', data: { 'service-name': 'pg', 'service-port': '5432' } },
      }),
    )
    await calm(world)
    expect(refused).not.toEqual([])
    refused.length = 0
    return { world, refused, offered }
  }

  test('an event that the sink refuses with 400 is named in the answer, which is 200 all the same', async () => {
    const { offered } = await createOffer()
    const { messages = [] } = (await offered.json()) as { messages?: string[] }
    expect([offered.status, messages.join()]).toEqual([200, expect.stringContaining('service-available')])
  })

  test('an event that the sink refuses with 400 stops no later event of its application', async () => {
    const { world } = await createOffer()
    await configure(world, 'web', {})
    await tellRelation(world, 'web', { ...MESH, id: 50, requirer: 'web' })
    expect(effects(world, 'web').mesh).toBe('on')
    await endRelation(world, 'web', { ...MESH, id: 50 })
    expect(effects(world, 'web').mesh).toBe('off')
  })

  test('an event that the sink refuses with 400 is not sent again', async () => {
    const { world, refused } = await createOffer()
    for (const _ of [1, 2, 3]) await post(world, 'resync', { application: 'web' })
    expect(refused).toEqual([])
  })

  test('an event that the sink refuses with 400 keeps nothing from the beacon, which reads for itself at its next event', async () => {
    const world = createPair()
    world.sink = async (event) => {
      if (event.subject === 'shop/beacon') return 400
      world.published.push(event)
      return 202
    }
    await configure(world, 'beacon', { mesh: {} })
    await configure(world, 'details', DETAILS_CONFIG)
    for (const relation of [USE, MESH])
      expect(await post(world, 'relation-changed', toldTo('details', relation))).toBe(200)
    await resync(world, 'beacon')
    await resync(world, 'details')
    expect(effects(world)).toEqual(WORKING)
  })
})
