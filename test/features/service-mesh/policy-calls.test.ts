import { describe, expect, test } from 'vitest'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  lists,
  policiesIn,
  policiesOf,
  provides,
  sourcesOf,
  wire,
  writes,
} from '../../helpers/beacon-world.ts'
import { event, type World } from '../../helpers/world.ts'

const to = (target: string, source: string) => wire({ target_app_name: target, source_app_name: source })

const applications = (count: number) => Array.from({ length: count }, (_, index) => `app-${index}`)

/** A beacon with so many consumers, each with a policy from `web`. */
const createConsumers = async (count: number, policies = (application: string) => [to(application, 'web')]) => {
  const world = createMesh([], false)
  await configure(world, { mesh: {} })
  await Promise.all(
    applications(count).map((application, id) =>
      world.post(event('relation-changed', provides(id, { application }, policies(application)))),
    ),
  )
  world.calls.length = 0
  return world
}

const POLICIES = '/apis/security.istio.io/v1/namespaces/shop/authorizationpolicies'

describe('the calls of a step with 100 policies', () => {
  test('nothing to do: 1 LIST of policies, and no write', async () => {
    const world = await createConsumers(100)
    expect(policiesIn(world)).toHaveLength(100)
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
    expect(lists(world, 'authorizationpolicies')).toHaveLength(1)
    expect(world.calls.filter((call) => !call.startsWith('GET'))).toEqual([])
    // besides its own memory, all memories and documents of the namespace, which a resync looks through; and, as no mesh says here what it
    // has taken, the three objects that tell if it would
    expect(world.calls).toHaveLength(15)
  })

  test('one changes: 1 LIST, 1 PATCH, and no other write but of the memory', async () => {
    const world = await createConsumers(100)
    expect((await ask(world, [to('app-7', 'cart')], { id: 7, application: 'app-7' })).status).toBe('changed')
    expect(lists(world, 'authorizationpolicies')).toHaveLength(1)
    expect(writes(world)).toEqual([expect.stringMatching(new RegExp(`^PATCH ${POLICIES}/beacon-shop-policy-app-7-`))])
    expect(sourcesOf(policiesOf(world, 'app-7'))).toEqual(['shop/cart'])
  })

  test.each<[string, unknown[], RegExp[]]>([
    ['one comes', [to('app-7', 'web'), { ...to('app-7', 'web'), target_type: 'unit' }], [/^PATCH/]],
    ['one goes, of the Service and of the pods behind it', [], [/^DELETE/, /^DELETE/]],
    ['one is moved', [{ ...to('app-7', 'web'), target_type: 'unit' }], [/^PATCH/, /^DELETE/]],
  ])('%s: 1 LIST, and what is new stands before what is stale goes', async (_, policies, expected) => {
    const world = await createConsumers(100)
    await ask(world, policies, { id: 7, application: 'app-7' })
    expect(lists(world, 'authorizationpolicies')).toHaveLength(1)
    expect(writes(world)).toEqual(expected.map((pattern) => expect.stringMatching(pattern)))
  })

  test('all change at once: they share a step', async () => {
    const world = await createConsumers(100)
    await Promise.all(
      applications(100).map((application, id) =>
        world.post(event('relation-changed', provides(id, { application }, [to(application, 'cart')]))),
      ),
    )
    expect(lists(world, 'authorizationpolicies').length).toBeLessThanOrEqual(2)
    expect(writes(world)).toHaveLength(100)
  })

  test('30 applications that all talk to each other have 30 policies', async () => {
    const world = await createConsumers(30, (application) =>
      applications(30)
        .filter((source) => source !== application)
        .map((source) => to(application, source)),
    )
    expect(policiesIn(world)).toHaveLength(30)
    expect(sourcesOf(policiesOf(world, 'app-0'))).toHaveLength(29)
  })
})

describe('at no moment is a target without its policy', () => {
  /** Whether it ever was, from now on. */
  const watch = (world: World, target: string) => {
    const least = { policies: policiesOf(world, target).length }
    world.api.subscribe(() => {
      least.policies = Math.min(least.policies, policiesOf(world, target).length)
    })
    return least
  }

  const many = (count: number) =>
    applications(count).map((source, index) => ({ ...to('db', source), endpoints: [{ ports: [index + 1] }] }))

  test.each<[string, unknown[], unknown[]]>([
    ['its source is exchanged', [to('db', 'web')], [to('db', 'cart')]],
    ['its endpoints are exchanged', [to('db', 'web')], [{ ...to('db', 'web'), endpoints: [{ ports: [80] }] }]],
    ['it grows to more than one object holds', many(2), many(600)],
    ['it shrinks to what one object holds', many(600), many(2)],
    ['its order changes', many(5), many(5).toReversed()],
    ['it is at the pods instead of the Service', [to('db', 'web')], [{ ...to('db', 'web'), target_type: 'unit' }]],
  ])('at no moment is a target without its policy while %s', async (_, before, after) => {
    const world = createMesh([], false)
    await configure(world, { mesh: {} })
    await ask(world, before)
    const least = watch(world, 'db')
    await ask(world, after)
    expect(least.policies).toBeGreaterThan(0)
    expect(new Set(sourcesOf(policiesOf(world, 'db'))).size).toBe(
      new Set(after.map((one) => JSON.stringify((one as { source_app_name: string }).source_app_name))).size,
    )
  })
})
