import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { TransportRequest } from '../../../src/platform/kubernetes/client.ts'
import { objectsOf } from '../../helpers/beacon-world.ts'
import type { Intercept, World } from '../../helpers/world.ts'
import {
  calm,
  configure,
  createPair,
  createStarted,
  DETAILS_CONFIG,
  effects,
  endRelation,
  isOffMesh,
  joinProcess,
  MESH,
  OFF,
  principalsAt,
  resync,
  tellRelation,
  toldTo,
  USE,
  word,
} from './pair.ts'

type Filter = (request: TransportRequest) => boolean

const isLabelApply: Filter = ({ method, path, body }) =>
  method === 'PATCH' && path.includes('/statefulsets/details') && body?.includes('istio.io/dataplane-mode') === true

const isPolicyWrite: Filter = ({ method, path }) => method !== 'GET' && path.includes('/authorizationpolicies')

/** Requests that reach the API server late: their sender hears nothing of them. */
const delay = (world: World, filter: Filter, hear: () => Promise<never>): TransportRequest[] => {
  const late: TransportRequest[] = []
  world.intercept = (request) => {
    if (!filter(request)) return undefined
    late.push(request)
    return hear()
  }
  return late
}

const GIVE_UP = () => Promise.reject(new Error('timed out'))
const DIE = () => new Promise<never>(() => undefined)

describe.each([
  ['was given up', GIVE_UP],
  ['belongs to a process that died', DIE],
])('a label whose request %s', (how, hear) => {
  const createLate = async () => {
    const world = await createStarted('broker', { sides: [] })
    const dying = joinProcess(world)
    const forward = dying.intercept
    const late: TransportRequest[] = []
    dying.intercept = (request) => {
      if (!isLabelApply(request)) return forward?.(request)
      late.push(request)
      return hear()
    }
    void dying.post(word('relation-changed', toldTo('details', MESH)))
    for (let turns = 0; turns < 50 && late.length === 0; turns += 1) {
      await sleep(2)
      for (const published of [...dying.published.splice(0), ...world.published.splice(0)])
        void (published.subject === 'shop/details' ? dying : world).post(published)
    }
    expect(late.length).toBeGreaterThan(0)
    await sleep(5)
    return { world, late }
  }

  test.each(['details', 'beacon'])(
    `a label whose request ${how} does not come back when that is done after the relation ended at %s`,
    async (side) => {
      const { world, late } = await createLate()
      await endRelation(world, side, MESH)
      for (const request of late) world.api.handle(request)
      expect(isOffMesh(world, 'details')).toBe(true)
    },
  )

  test.each(['details', 'beacon'])(
    `a label whose request ${how} is gone after one resync when that is done after the relation ended at %s`,
    async (side) => {
      const { world, late } = await createLate()
      await endRelation(world, side, MESH)
      for (const request of late) world.api.handle(request)
      await resync(world, 'details')
      expect(effects(world)).toEqual(OFF)
    },
  )
})

test('a policy whose request is done after its relation ended lets in nobody, at the latest after one resync', async () => {
  const world = await createStarted()
  await endRelation(world, 'details', USE)
  const late = delay(world, isPolicyWrite, GIVE_UP)
  await world.post(word('relation-changed', toldTo('details', { ...USE, requirer: 'reviews', id: 9 })))
  for (const published of world.published.splice(0)) await world.post(published)
  expect(late.length).toBeGreaterThan(0)
  world.intercept = undefined
  await endRelation(world, 'details', { ...USE, id: 9 })
  for (const request of late) world.api.handle(request)
  await resync(world, 'beacon')
  expect(principalsAt(world, 'details')).toEqual([])
})

/** The objects where a touch has begun and not ended. */
const openTouches = (world: World): string[] =>
  world.api
    .objects()
    .filter(({ metadata: { managedFields = [] } }) => managedFields.some(({ manager }) => manager === 'meshstep-fence'))
    .map(({ kind }) => kind)
    .toSorted()

test('a touch that a dead process has begun is ended, also where the next step writes something else first', async () => {
  const world = await createStarted()
  const found = ['Service', 'StatefulSet', 'AuthorizationPolicy'].flatMap((kind) =>
    objectsOf(world, kind).filter(({ metadata }) => metadata.name.includes('details')),
  )
  for (const { apiVersion, kind, metadata, spec } of found) {
    const paths = { Service: 'services', StatefulSet: 'statefulsets', AuthorizationPolicy: 'authorizationpolicies' }
    const root = apiVersion === 'v1' ? 'api' : 'apis'
    const held = kind === 'StatefulSet' ? { spec: { selector: spec?.selector } } : {}
    const annotations = kind === 'StatefulSet' ? undefined : { 'meshstep.dev/fence': 'dead' }
    world.api.handle({
      method: 'PATCH',
      path: `/${root}/${apiVersion}/namespaces/shop/${paths[kind as keyof typeof paths]}/${metadata.name}?fieldManager=meshstep-fence&force=true`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify({ apiVersion, kind, metadata: { name: metadata.name, annotations }, ...held }),
    })
  }
  expect(openTouches(world)).toEqual(found.map(({ kind }) => kind).toSorted())
  await configure(world, 'details', { ...DETAILS_CONFIG, labels: { tier: 'a' } })
  await resync(world, 'details')
  await resync(world, 'beacon')
  expect(openTouches(world)).toEqual([])
})

/** Holds one process back at its first write that `filter` names; `resume` lets it go on. */
const pause = (filter: Filter, forward: Intercept | undefined) => {
  let resume: () => void = () => undefined
  let reach: () => void = () => undefined
  const resumed = new Promise<void>((resolve) => {
    resume = resolve
  })
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const intercept: Intercept = async (request) => {
    if (filter(request)) {
      reach()
      await resumed
    }
    return forward?.(request)
  }
  return { intercept, reached, resume: () => resume() }
}

/** Delivers what is published to one process, and what follows from that. */
const deliverTo = async (world: World, process: World): Promise<void> => {
  for (;;) {
    const events = [...world.published.splice(0), ...process.published.splice(0)]
    if (events.length === 0) return
    await Promise.all(events.map((one) => process.post(one)))
  }
}

describe('races of two processes', () => {
  const DENY = {
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'deny' },
    spec: { action: 'DENY', rules: [{}] },
  }

  test('two processes that take steps of one application at once leave no policy that the last config does not name, after one resync', async () => {
    const world = createPair()
    const slow = joinProcess(world)
    const { intercept, reached, resume } = pause(isPolicyWrite, slow.intercept)
    slow.intercept = intercept
    const configuring = slow.post(word('config-changed', { application: 'details', config: { rawPolicies: [DENY] } }))
    await reached
    await configure(world, 'details', {})
    resume()
    await configuring
    await resync(world, 'details')
    expect(objectsOf(world, 'AuthorizationPolicy')).toEqual([])
  })

  test('two processes that take steps of one application at once leave no policy that was asked for over a relation that ended meanwhile, after one resync', async () => {
    const world = await createStarted('broker', { sides: [] })
    const slow = joinProcess(world)
    const { intercept, reached, resume } = pause(isPolicyWrite, slow.intercept)
    slow.intercept = intercept
    await world.send('relation-changed', toldTo('details', MESH), { id: 'told', source: '/platform' })
    const granting = deliverTo(world, slow)
    await reached
    await endRelation(world, 'details', MESH)
    resume()
    await granting
    world.published.push(...slow.published.splice(0))
    await calm(world)
    await resync(world, 'beacon')
    expect(effects(world)).toEqual(OFF)
  })

  test('two processes that take steps of one application at once leave the policies of the config that was told last', async () => {
    const world = await createStarted()
    const slow = joinProcess(world)
    const { intercept, reached, resume } = pause(isPolicyWrite, slow.intercept)
    slow.intercept = intercept
    await configure(world, 'details', {})
    const granting = slow.post(word('config-changed', { application: 'details', config: DETAILS_CONFIG }))
    await reached
    await configure(world, 'details', {})
    await tellRelation(world, 'details', USE)
    resume()
    await granting
    world.published.push(...slow.published.splice(0))
    await calm(world)
    await resync(world, 'beacon')
    expect(principalsAt(world, 'details')).toEqual([])
  })
})
