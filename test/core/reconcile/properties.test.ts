import fc from 'fast-check'
import { expect, test } from 'vitest'
import { labelProblem } from '../../../src/platform/kubernetes/label-syntax.ts'
import { createWorld, isWrite, meshRelation, setLabels, type World } from '../../helpers/world.ts'

type Labels = Record<string, string>

/** Labels that are there from the start, besides those that anybody sets below. */
const OWN = { 'app.kubernetes.io/name': 'web' }
const TEMPLATE = { ...OWN, team: 'blue' }

type Action =
  | { type: 'relation-changed'; id: number; labels: Labels }
  | { type: 'relation-broken'; id: number }
  | { type: 'config-changed'; labels: Labels }
  | { type: 'pod-restarted' | 'leader-elected' | 'resync' | 'memory-lost' }
  | { type: 'foreign'; on: 'statefulsets' | 'services'; key: string; value: string | null }

/** The first two are a mesh's to ask for; the others only the application itself may. */
const KEYS = ['istio.io/use-waypoint', 'istio.io/use-waypoint-namespace', 'c', 'constructor'] as const

const key = fc.constantFrom(...KEYS, 'team', 'bad key')
const value = fc.constantFrom('1', '2', 'blue')
const labels = fc.dictionary(key, value, { maxKeys: 4 })
const id = fc.constantFrom(1, 2)

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('relation-changed' as const), id, labels }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('relation-broken' as const), id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('config-changed' as const), labels }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom(
        'pod-restarted' as const,
        'leader-elected' as const,
        'resync' as const,
        'memory-lost' as const,
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('foreign' as const),
      on: fc.constantFrom('statefulsets' as const, 'services' as const),
      key: fc.constantFrom(...KEYS),
      value: fc.option(value),
    }),
  },
)

/** What should be, kept beside the world by rules of its own: what others hold wins, then config, then the lower relation. */
class Model {
  readonly foreign: Record<'statefulsets' | 'services', Labels> = {
    statefulsets: { ...TEMPLATE },
    services: { ...OWN },
  }
  readonly relations = new Map<number, Labels>()
  config: Labels = {}

  desired(): Labels {
    const sources = [this.taken(2), this.taken(1), this.config]
    const asked = Object.assign({}, ...sources) as Labels
    return Object.fromEntries(Object.entries(asked).filter(([name, text]) => labelProblem(name, text) === undefined))
  }

  taken(relation: number): Labels {
    const asked = Object.entries(this.relations.get(relation) ?? {})
    return Object.fromEntries(asked.filter(([name]) => name.startsWith('istio.io/')))
  }

  expected() {
    return {
      template: { ...this.desired(), ...this.foreign.statefulsets },
      service: { ...this.desired(), ...this.foreign.services },
    }
  }
}

const perform = async (world: World, model: Model, one: Action): Promise<void> => {
  switch (one.type) {
    case 'relation-changed':
      model.relations.set(one.id, one.labels)
      await world.send('relation-changed', meshRelation(one.labels, one.id))
      return
    case 'relation-broken':
      model.relations.delete(one.id)
      await world.send('relation-broken', { relation: { id: one.id } })
      return
    case 'config-changed':
      model.config = one.labels
      await world.send('config-changed', { config: { labels: one.labels } })
      return
    case 'memory-lost':
      model.relations.clear()
      model.config = {}
      world.api.handle({
        method: 'DELETE',
        path: '/api/v1/namespaces/shop/configmaps/juju-service-mesh-web-labels',
        headers: {},
      })
      return
    case 'foreign':
      foreignWrite(world, model, one)
      return
    default:
      await world.send(
        one.type,
        one.type === 'pod-restarted'
          ? { pod: { name: 'web-0', uid: 'u' } }
          : one.type === 'leader-elected'
            ? { unit: 'web/0' }
            : {},
      )
  }
}

/** Setting a label to the value it has makes nobody its holder: the API server sees no change. */
const foreignWrite = (
  world: World,
  model: Model,
  { on, key: name, value: text }: Action & { type: 'foreign' },
): void => {
  const now = on === 'services' ? world.labels().service : world.labels().template
  const current = Object.hasOwn(now, name) ? now[name] : undefined
  setLabels(world, 'somebody', { [name]: text }, on)
  if (text === null) delete model.foreign[on][name]
  else if (current !== text) model.foreign[on][name] = text
}

const foreignStays = (world: World, model: Model): void => {
  expect(world.labels().template).toMatchObject(model.foreign.statefulsets)
  expect(world.labels().service).toMatchObject(model.foreign.services)
}

test('after any sequence of events and of writes by others, a resync leaves what should be, and a second one writes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 12 }), async (actions) => {
      const world = createWorld()
      const model = new Model()
      for (const one of actions) {
        await perform(world, model, one)
        foreignStays(world, model)
      }
      // no label goes because its memory was lost: that a relation has ended, and what the config asks for, is told
      if (actions.some(({ type }) => type === 'memory-lost')) {
        await world.send('relation-broken', { relation: { id: 9, interface: 'service_mesh' } })
        await world.send('config-changed', { config: { labels: model.config } })
      }
      await world.send('resync', {})
      expect(world.labels()).toEqual(model.expected())
      world.calls.length = 0
      expect((await world.send('resync', {})).written).toEqual([])
      expect(world.calls.filter(isWrite)).toEqual([])
    }),
    { numRuns: 150 },
  )
})

test('after any sequence, the removal of the application leaves only what others hold, and no memory', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 12 }), async (actions) => {
      const world = createWorld()
      const model = new Model()
      for (const one of actions) await perform(world, model, one)
      await world.send('application-removed', {})
      expect(world.labels()).toEqual({ template: model.foreign.statefulsets, service: model.foreign.services })
      world.clock.advance(25 * 60 * 60 * 1_000)
      await world.send('resync', {})
      expect(world.memory()).toBeUndefined()
    }),
    { numRuns: 80 },
  )
})

test('the order in which relations change does not matter', async () => {
  const changes = fc.uniqueArray(fc.record({ id: fc.integer({ min: 1, max: 4 }), labels }), {
    selector: ({ id: relation }) => relation,
    minLength: 2,
  })
  const shuffled = changes.chain((all) =>
    fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
  )
  await fc.assert(
    fc.asyncProperty(shuffled, async ([one, other]) => {
      const ends = await Promise.all(
        [one, other].map(async (order) => {
          const world = createWorld()
          for (const change of order) await world.send('relation-changed', meshRelation(change.labels, change.id))
          return [world.labels(), world.memory()?.labels]
        }),
      )
      expect(ends[0]).toEqual(ends[1])
    }),
    { numRuns: 30 },
  )
})
