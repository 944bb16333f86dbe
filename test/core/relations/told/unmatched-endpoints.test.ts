import { describe, expect, test } from 'vitest'
import { misspeltEndpoints, unmatchedEndpoints } from '../../../../src/core/relations/told/unmatched-endpoints.ts'
import { features } from '../../../../src/features.ts'
import { createMesh, related } from '../../../helpers/beacon-world.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'
import { SUBJECT, type World } from '../../../helpers/world.ts'

const DB = { application: 'db' }

const policiesFor = (...endpoints: string[]) => ({
  policies: endpoints.map((relation) => ({ type: 'app', relation, endpoints: [{ ports: [80] }] })),
})

/** The messages of a step of `db` with a config, once it has a relation of `endpoint`. */
const told = async (endpoint: string, config: Record<string, unknown>): Promise<readonly string[]> => {
  const world: World = createMesh(['db', 'web'])
  await world.send('relation-changed', related(3, endpoint, { application: 'web' }, DB))
  return (await world.send('config-changed', { ...DB, config })).messages
}

describe('a step of an application whose config names an endpoint', () => {
  test('a step of an application whose config names an endpoint that is nearly that of a relation says so', async () => {
    expect(await told('details', policiesFor('detials'))).toEqual([
      'shop/db: policies[0] names the endpoint detials, and no relation has it: is details meant?',
    ])
  })

  test.each([{ services: { detail: { name: 'db', port: 80 } } }, { databag: { detail: { a: 'b' } } }])(
    'a step of an application whose config names an endpoint in %j says so',
    async (config) => {
      expect(await told('details', config)).toContainEqual(
        expect.stringMatching(/endpoint detail, .* is details meant/),
      )
    },
  )

  test.each([
    ['that a relation has', 'details', 'details'],
    ['that may be related yet', 'details', 'metrics'],
    ['as short as another one', 'db', 'ca'],
  ])('%s says nothing', async (_, endpoint, named) => {
    expect(await told(endpoint, policiesFor(named))).toEqual([])
  })

  test('a step of an application with a relation of nearly the endpoint that its policies name, beside the right one, says so', async () => {
    const world = createMesh(['db', 'web'])
    await world.send('config-changed', { ...DB, config: policiesFor('details') })
    await world.send('relation-changed', related(3, 'details', { application: 'web' }, DB))
    expect((await world.send('relation-changed', related(4, 'detials', { application: 'web' }, DB))).messages).toEqual([
      'shop/db: relation 4 (detials) grants nothing: no policy of the config names its endpoint: is details meant?',
    ])
  })

  test('a step of an application whose config names an endpoint says so until a relation has it, and calls nobody for it', async () => {
    const world = createMesh(['db', 'web'])
    await world.send('relation-changed', related(3, 'details', { application: 'web' }, DB))
    await world.send('config-changed', { ...DB, config: policiesFor('detials') })
    const calls = async (config: Record<string, unknown>) => {
      await world.send('config-changed', { ...DB, config })
      world.calls.length = 0
      await world.send('config-changed', { ...DB, config })
      return world.calls.toSorted()
    }
    expect(await calls(policiesFor('detials'))).toEqual(await calls(policiesFor('details')))
    await world.send('config-changed', { ...DB, config: policiesFor('detials') })
    const { messages } = await world.send('relation-changed', related(4, 'detials', { application: 'web' }, DB))
    expect(messages).toEqual([
      expect.stringMatching(/^shop\/db: relation 3 \(details\) grants nothing: .* is detials meant/),
    ])
  })
})

/** The endpoint that is meant, where a relation has `present` and a config names `named`. */
const meant = (present: string, named: string): string | undefined =>
  unmatchedEndpoints(
    stateOf([entryOf({ endpoint: present })], { config: features.config.parse({ databag: { [named]: { a: 'b' } } }) }),
  )[0]?.near

test.each([
  ['metrics', 'metric', 'metrics'],
  ['metrics', 'metricss', 'metrics'],
  ['metrics', 'matrics', 'metrics'],
  ['metrics', 'metrcis', 'metrics'],
  ['metrics', 'etric', 'metrics'],
  ['metrics', 'metricsabc', undefined],
  ['metrics', 'xxtrixs', undefined],
  ['db', 'dc', 'db'],
  ['db', 'dbb', 'db'],
  ['db', 'xy', undefined],
  ['db', 'dbccc', undefined],
  ['abc', 'axy', undefined],
  ['abcd', 'axyz', undefined],
  ['d', 'e', undefined],
])('next to the endpoint %s, the name %s means %s', (present, named, near) => {
  expect(meant(present, named)).toBe(near)
})

test('an endpoint is unknown where its relation has ended, and is not a misspelt one without a similar name', () => {
  const state = stateOf([entryOf({ endpoint: 'db', status: 'ended' }), entryOf({ id: 2, endpoint: 'web' })], {
    config: features.config.parse({ ...policiesFor('web', 'db'), services: { other: { name: 'a', port: 1 } } }),
  })
  expect(unmatchedEndpoints(state)).toEqual([
    { to: 'relations', where: 'policies[1]', endpoint: 'db' },
    { to: 'relations', where: 'services', endpoint: 'other' },
  ])
  expect(misspeltEndpoints(SUBJECT, state)).toEqual([])
})
