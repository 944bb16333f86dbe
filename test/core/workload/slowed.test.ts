import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { removeApplication } from '../../../src/core/reconcile/fold/remove-application.ts'
import type { Config, SpecSource } from '../../../src/core/state/config.ts'
import { emptyState, type State } from '../../../src/core/state/state.ts'
import { Slowed, slowedWaits, withSlowed } from '../../../src/core/workload/slowed.ts'
import { features } from '../../../src/features.ts'
import { createEmptyWorld, deployed, podSpec, STATEFUL, templateOf, view } from '../../helpers/application.ts'
import { runs } from '../../helpers/runs.ts'
import type { World } from '../../helpers/world.ts'
import { workload } from './samples.ts'

/** What an event says, and when, in seconds. An event that says nothing may take what waits. */
type Told = Partial<Pick<State, 'config' | 'settings' | 'databag' | 'units'>> & {
  readonly at: number
  readonly by?: SpecSource
}

const SUBJECT = { namespace: 'shop', application: 'web' }

/** The memories after each event, read from JSON as each step does. */
const played = (all: readonly Told[], begin: State = emptyState()): State[] => {
  let state = begin
  return all.map(({ at, by = 'unit', ...told }) => {
    const next = withSlowed(state, { ...state, ...told }, () => by, at * 1_000)
    if (next.slowed) expect(Slowed.parse(next.slowed)).toEqual(next.slowed)
    state = JSON.parse(JSON.stringify(next))
    return state
  })
}

const last = (all: readonly Told[], begin?: State): State => played(all, begin).at(-1) ?? emptyState()

const coloured = (colour: string, more: Config = {}): Config => ({
  workload: workload({ podSpec: podSpec('web:1', { env: [{ name: 'COLOUR', value: colour }] }) }),
  ...more,
})

const ofUnit = (colour: string): State['units'] => ({
  present: { one: { pod: 'web-0', number: 0, databag: { website: { colour } } } },
  departed: [],
  next: 1,
})

/** The parts that units tell, each with a value that differs by its colour. */
const PARTS: readonly (readonly [
  name: string,
  shown: string,
  path: string,
  tell: (colour: string) => Partial<State>,
])[] = [
  [
    'config.workload',
    'config.workload',
    'podSpec.containers[web].env[COLOUR].value',
    (colour) => ({ config: coloured(colour) }),
  ],
  ['config.labels', 'config.labels', 'colour', (colour) => ({ config: coloured('a', { labels: { colour } }) })],
  ['settings', 'settings', 'colour', (colour) => ({ settings: { colour } })],
  ['databag', 'databag', 'website.colour', (colour) => ({ databag: { website: { colour } } })],
  ['unit.one', 'the databag of pod web-0', 'website.colour', (colour) => ({ units: ofUnit(colour) })],
]

const withoutCount = ({ slowed: _, ...state }: State): State => state

describe.each(PARTS)('%s that a unit changes again and again', (name, shown, path, tell) => {
  /** The part before it was changed. */
  const begin: State = { ...emptyState(), ...tell('a') }
  const later = (...all: readonly Told[]) => last(all, begin)
  const is = (state: State, colour: string) => expect(withoutCount(state)).toEqual({ ...begin, ...tell(colour) })

  test('the first change is taken at once, also where there was nothing before, which does not count', () => {
    is(later({ at: 0, ...tell('b') }), 'b')
    is(
      last([
        { at: 0, ...tell('a') },
        { at: 1, ...tell('b') },
      ]),
      'b',
    )
  })

  test('the second change is taken by an event after ten seconds, and not before', () => {
    const changes = [
      { at: 0, ...tell('b') },
      { at: 4, ...tell('c') },
      { at: 5, ...tell('d') },
    ]
    is(later(...changes), 'b')
    is(later(...changes, { at: 9.999 }), 'b')
    is(later(...changes, { at: 10 }), 'd')
    is(later(...changes, { at: 10, ...tell('e') }), 'e')
    expect(later(...changes, { at: 10 }).slowed).toEqual({ [name]: { flips: 2, at: 10_000 } })
  })

  test('what waits is told with its part, the places that differ, the units and the time, without a value', () => {
    const [wait, ...others] = slowedWaits(SUBJECT, later({ at: 0, ...tell('b') }, { at: 1, ...tell('hush') }))
    expect([wait, others]).toMatchObject([
      {
        object: shown,
        for: ['shop/web'],
        message: `${shown}: units keep changing it. What they sent last differs in ${path}, and is taken by the next event, or a resync, after 1970-01-01T00:00:10.000Z`,
      },
      [],
    ])
  })

  test('nothing waits where the value in effect is told again', () => {
    const state = later({ at: 0, ...tell('b') }, { at: 1, ...tell('c') }, { at: 2, ...tell('b') })
    expect([state.slowed, slowedWaits(SUBJECT, state)]).toEqual([{ [name]: { flips: 1, at: 0 } }, []])
  })

  test('ten minutes without a change forget the count', () => {
    is(later({ at: 0, ...tell('b') }, { at: 10, ...tell('c') }, { at: 29, ...tell('d') }), 'c')
    const quiet = later({ at: 0, ...tell('b') }, { at: 10, ...tell('c') }, { at: 610, ...tell('d') })
    is(quiet, 'd')
    expect(quiet.slowed).toEqual({ [name]: { flips: 1, at: 610_000 } })
  })

  test('an event that neither tells nor takes it leaves the memory as it is', () => {
    const state = later({ at: 0, ...tell('b') }, { at: 1, ...tell('c') })
    expect(withSlowed(state, state, () => 'document', 2_000)).toBe(state)
  })
})

test.each(
  PARTS.filter(([name]) => !name.startsWith('unit.')).flatMap(([name, , , tell]) =>
    (['person', 'document'] as const).map((by) => [name, by, tell] as const),
  ),
)('%s that a %s tells is taken at once, and ends the count and the wait', (_, by, tell) => {
  const begin = { ...emptyState(), ...tell('a') }
  const state = last(
    [
      { at: 0, ...tell('b') },
      { at: 1, ...tell('c') },
      { at: 2, by, ...tell('d') },
    ],
    begin,
  )
  expect(state).toEqual({ ...begin, ...tell('d') })
  expect(withoutCount(last([{ at: 3, ...tell('e') }], state))).toEqual({ ...begin, ...tell('e') })
})

test('each change doubles the delay, up to five minutes', () => {
  const all = Array.from({ length: 1_300 }, (_, at) => ({ at, settings: { run: `${at}` } }))
  const taken = played(all, { ...emptyState(), settings: {} }).map(({ settings }) => Number(settings?.run))
  expect([...new Set(taken)]).toEqual([0, 10, 30, 70, 150, 310, 610, 910, 1_210])
})

test('parts that only say who may reach whom are never slowed, nor is a revision, and other parts of the config do not wait for one that does', () => {
  const policies = (port: number) => [{ type: 'unit' as const, relation: 'db', ports: [port] }]
  const told = (run: number): Config => ({ ...coloured('a', { policies: policies(run) }), labels: { run: `${run}` } })
  const [, , third] = played([1, 2, 3].map((run) => ({ at: run, config: told(run) })))
  expect(third?.config).toMatchObject({ policies: policies(3), labels: { run: '2' } })
  const revised = played(
    [1, 2, 3].map((run) => ({ at: run, config: { workload: workload({ revision: `${run}` }) } })),
  ).at(-1)
  expect([revised?.config?.workload, revised?.slowed]).toEqual([workload({ revision: '3' }), undefined])
})

test('a part that goes, or comes back, waits as well', () => {
  const labels = (colour: string) => coloured('a', { labels: { colour } })
  const changes = [labels('a'), coloured('a'), labels('b')].map((config, at) => ({ at, config }))
  expect(last(changes).config).toEqual(coloured('a'))
  expect(slowedWaits(SUBJECT, last(changes))[0]?.message).toContain('differs as a whole')
  expect(last([...changes, { at: 3, config: coloured('a') }, { at: 11, config: labels('c') }]).config).toEqual(
    labels('c'),
  )
})

test('the databag of a unit goes with the unit, whatever waits', () => {
  const gone = { present: {}, departed: [], next: 1 }
  const begin = { ...emptyState(), units: ofUnit('a') }
  const state = last(
    [
      { at: 0, units: ofUnit('b') },
      { at: 1, units: ofUnit('c') },
      { at: 20, units: gone },
    ],
    begin,
  )
  expect(state).toEqual({ ...emptyState(), units: gone })
  expect(slowedWaits(SUBJECT, { ...state, slowed: { 'unit.one': { flips: 1, at: 0, held: {} } } })).toEqual([])
})

test('two units that change each other’s template do so a few times at first, and then at most each five minutes', () => {
  const pauses = fc.array(fc.integer({ min: 1, max: 240 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(pauses, (all) => {
      const times: number[] = []
      for (let at = 0; at < 3_600; at += all[times.length % all.length] ?? 1) times.push(at)
      // each unit tells its own name, as soon as it sees that of the other
      const told = times.map((at, index) => ({ at, config: coloured(`web/${index % 2}`) }))
      const states = played(told, { ...emptyState(), config: coloured('web/none') })
      const changes = states.filter(
        ({ config }, index) => JSON.stringify(config) !== JSON.stringify(states[index - 1]?.config),
      )
      // the first one, those that come within the five minutes to which the delay grows, and one in each five minutes
      expect(changes.length).toBeLessThanOrEqual(1 + Math.ceil(Math.log2(300 / 10)) + 3_600 / 300)
    }),
    { numRuns: runs(200) },
  )
})

test('a removal drops the counts and what waits, also of settings that are later than it', () => {
  const slowed = { settings: { flips: 1, at: 0, held: { value: { colour: 'c' } } } }
  const state = { ...emptyState(), settings: { colour: 'b' }, marks: { settings: { at: 2 } }, slowed }
  const removed = removeApplication(
    features,
    state,
    { source: '/test', id: 'removal', time: 1, arrived: 3 },
    new Date(3),
  )
  expect(removed.state).toMatchObject({ settings: { colour: 'b' } })
  expect(removed.state).not.toHaveProperty('slowed')
})

describe('a world in which a unit tells something new at each run', () => {
  const colourOf = (world: World) => JSON.stringify(templateOf(world)?.spec.containers).match(/"value":"(\w+)"/)?.[1]

  const begun = async (): Promise<World> => {
    const world = createEmptyWorld()
    await world.send('config-changed', { ...told('a'), settings: { colour: 'a' }, databag: { db: { colour: 'a' } } })
    await world.send('resync', {})
    await tellOwn(world, 'a')
    return world
  }
  const told = (value: string) =>
    deployed({ podSpec: podSpec('web:1', { env: [{ name: 'COLOUR', value }] }), ...STATEFUL })
  const stateOf = (world: World) => world.memory()?.state as unknown as State
  const podOf = (world: World) => ({ name: 'web-0', uid: String(world.object('Pod', 'web-0')?.metadata.uid) })
  const tellOwn = (world: World, colour: string) =>
    world.send('pod-restarted', { pod: podOf(world), unit: 'web/0', databag: { website: { colour } } })
  const coloursOf = ({ settings, databag, units }: State) => [
    ...[settings?.colour, databag?.db?.colour],
    Object.values(units.present)[0]?.databag?.website?.colour,
  ]

  test.each([
    ['a resync', (world: World) => world.send('resync', {})],
    ['a pod', (world: World) => world.send('pod-restarted', { pod: podOf(world) })],
  ])('settings and databags wait, and %s after the delay takes them', async (_, ring) => {
    const world = await begun()
    for (const colour of ['b', 'c']) {
      await world.send('config-changed', { settings: { colour }, databag: { db: { colour } }, unit: 'web/0' })
      await tellOwn(world, colour)
    }
    expect(coloursOf(stateOf(world))).toEqual(['b', 'b', 'b'])
    await ring(world)
    expect(coloursOf(stateOf(world))).toEqual(['b', 'b', 'b'])
    expect((await view(world)).status).toMatchObject({
      status: 'waiting',
      message: expect.stringMatching(/^settings: units keep changing it.* \(and 2 more\)$/),
    })
    world.clock.advance(10_000)
    await ring(world)
    expect(coloursOf(stateOf(world))).toEqual(['c', 'c', 'c'])
    expect((await view(world)).status.status).toBe('active')
  })

  test('a template waits, a person’s is applied at once, and a removal forgets what waits', async () => {
    const world = await begun()
    for (const colour of ['b', 'c']) await world.send('config-changed', { ...told(colour), unit: 'web/0' })
    expect([colourOf(world), world.memory()?.state]).toEqual([
      'b',
      expect.objectContaining({ slowed: expect.anything() }),
    ])
    const removed = await world.send('application-removed', {})
    expect([removed.applicationStatus, world.memory()?.state.slowed]).toEqual([undefined, undefined])
    await world.send('config-changed', told('d'))
    await world.send('resync', {})
    for (const colour of ['e', 'f']) await world.send('config-changed', { ...told(colour), unit: 'web/0' })
    expect(colourOf(world)).toBe('e')
    await world.send('config-changed', told('g'))
    expect([colourOf(world), world.memory()?.state.slowed]).toEqual(['g', undefined])
  })

  test('a template changes a few times within an hour, however often it is told', { timeout: 30_000 }, async () => {
    const world = await begun()
    const colours = []
    for (let run = 0; run < 120; run += 1) {
      world.clock.advance(30_000)
      await world.send('config-changed', { ...told(`v${run}`), unit: 'web/0' })
      colours.push(colourOf(world))
    }
    expect(new Set(colours).size).toBeLessThanOrEqual(17)
  })
})
