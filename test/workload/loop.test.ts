import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SpecInputs } from '../../src/workload/inputs.ts'
import { loopMessage, loopOf, observeSpec, SpecHistory, withoutRun } from '../../src/workload/loop.ts'
import type { PodSpec } from '../../src/workload/pod-spec.ts'
import { podSpec, reordered } from './samples.ts'

const NOW = new Date('2026-01-01T00:00:00Z')

type Run = { spec: PodSpec; rest?: unknown; relations?: SpecInputs['relations'] }

const NOTHING_KNOWN = new Map<string, string>()

/** The history after these specs arrived; it is what a memory holds, so it is read back each time. */
const historyOf = (runs: readonly Run[], known: ReadonlyMap<string, string> = NOTHING_KNOWN): SpecHistory =>
  SpecHistory.parse(
    runs.reduce<SpecHistory | undefined>(
      (history, { spec, rest = {}, relations = {} }) =>
        observeSpec(history && SpecHistory.parse(JSON.parse(JSON.stringify(history))), {
          spec,
          inputs: { rest, relations },
          known,
          now: NOW,
        }),
      undefined,
    ),
  )

const colours = (...values: string[]): Run[] => values.map((value) => ({ spec: podSpec('web:1', value) }))
const images = (...values: string[]): Run[] => values.map((value) => ({ spec: podSpec(value) }))

const running = ({ spec }: SpecHistory) => [spec.containers[0]?.image, spec.containers[0]?.env?.[0]?.value].join(' ')

describe('a spec that is new at each run', () => {
  test('is applied three times, then no more', () => {
    expect(loopOf(historyOf(colours('a', 'b', 'c')))).toBeUndefined()
    expect(running(historyOf(colours('a', 'b', 'c')))).toBe('web:1 c')
    const history = historyOf(colours('a', 'b', 'c', 'd'))
    expect(loopOf(history)).toEqual({
      paths: ['containers[web].env[COLOUR].value'],
      because: 'the spec changed three times in a row while nothing that it may depend on did',
    })
    expect(running(history)).toBe('web:1 c')
  })

  test('stays so, however often it comes', () => {
    const history = historyOf(colours('a', 'b', 'c', 'd', 'e', 'f', 'c', 'g'))
    expect(running(history)).toBe('web:1 c')
    expect(loopOf(history)).toBeDefined()
  })

  test('is told with the way out', () => {
    const loop = loopOf(historyOf(colours('a', 'b', 'c', 'd')))
    expect(loop && loopMessage(loop)).toMatch(/what runs stays.*env\[COLOUR\]\.value.*set workload\.revision/s)
  })

  test('two specs by turns are a loop, too', () => {
    expect(loopOf(historyOf(colours('a', 'b', 'a', 'b')))).toBeDefined()
  })

  test('an equal spec in between neither counts nor resets', () => {
    const twice = (runs: Run[]) => runs.flatMap((run) => [run, { spec: reordered(run.spec) }])
    expect(loopOf(historyOf(twice(colours('a', 'b', 'c'))))).toBeUndefined()
    expect(loopOf(historyOf(twice(colours('a', 'b', 'c', 'd'))))).toBeDefined()
  })

  test('an equal spec leaves the memory as it is', () => {
    const history = historyOf(colours('a', 'b'))
    const again = { spec: reordered(podSpec('web:1', 'b')), inputs: { rest: {}, relations: {} } }
    expect(observeSpec(history, { ...again, known: NOTHING_KNOWN, now: new Date('2027-01-01') })).toBe(history)
  })

  test('only the paths that differ each time are named, whatever else changes', () => {
    const runs = ['a', 'b', 'c', 'd'].map((value, index) => ({ spec: podSpec(`web:${index < 2 ? 1 : 2}`, value) }))
    expect(loopOf(historyOf(runs))?.paths).toEqual(['containers[web].env[COLOUR].value'])
  })

  test('changes in different places are no loop', () => {
    const runs = [
      podSpec(),
      podSpec('web:2'),
      podSpec('web:2', 'red'),
      { ...podSpec('web:2', 'red'), hostNetwork: true },
    ]
    expect(loopOf(historyOf(runs.map((spec) => ({ spec }))))).toBeUndefined()
  })

  test('variables that are added one after another are no loop', () => {
    const grown = (count: number) => {
      const env = Array.from({ length: count }, (_, index) => ({ name: `V${index}`, value: 'x' }))
      return { spec: { containers: [{ name: 'web', image: 'web:1', env }] } }
    }
    expect(loopOf(historyOf([1, 2, 3, 4, 5].map(grown)))).toBeUndefined()
  })

  test('the third change in a row counts, not the third after another one', () => {
    // the image differs at the first two changes, the colour at the last three
    const runs = [podSpec('1', 'a'), podSpec('2', 'a'), podSpec('3', 'b'), podSpec('3', 'c'), podSpec('3', 'd')]
    expect(loopOf(historyOf(runs.slice(0, 4).map((spec) => ({ spec }))))).toBeUndefined()
    expect(loopOf(historyOf(runs.map((spec) => ({ spec }))))?.paths).toEqual(['containers[web].env[COLOUR].value'])
  })

  test('a name that is made up at each run is found at the list it is in', () => {
    const runs = ['a', 'b', 'c', 'd'].map((name) => ({
      spec: { containers: [{ name: 'web', image: 'web:1', env: [{ name, value: 'x' }] }] },
    }))
    expect(loopOf(historyOf(runs))?.paths).toEqual(['containers[web].env'])
  })

  test('at most ten paths are named', () => {
    const runs = ['a', 'b', 'c', 'd'].map((value) => {
      const env = Array.from({ length: 300 }, (_, index) => ({ name: `V${index}`, value }))
      return { spec: { containers: [{ name: 'web', image: 'web:1', env }] } }
    })
    const history = historyOf(runs)
    expect(loopOf(history)?.paths).toHaveLength(10)
    expect(historyOf(runs.slice(0, 3)).run?.streaks).toHaveLength(200)
  })
})

test('a place that keeps changing is not lost among very many that change once', () => {
  const [few, many] = [1, 300]
  const runs = [
    [few, 'a'],
    [few, 'b'],
    [many, 'c'],
    [few, 'd'],
  ] as const
  const steps = runs.map(([count, value]) => {
    const others = Array.from({ length: 300 }, (_, index) => ({ name: `V${index}`, value: `${count}` }))
    return { spec: { containers: [{ name: 'web', image: 'web:1', env: [...others, { name: 'Z', value }] }] } }
  })
  expect(loopOf(historyOf(steps))?.paths).toEqual(['containers[web].env[Z].value'])
})

describe('the way on', () => {
  const upgrades = images('web:1', 'web:2', 'web:3', 'web:4')

  test('three upgrades of an image without a word are taken for a loop', () => {
    expect(running(historyOf(upgrades))).toBe('web:3 blue')
  })

  test('a revision that goes with each says that they are meant', () => {
    const history = historyOf(upgrades.map((run, index) => ({ ...run, rest: { revision: `${index}` } })))
    expect(loopOf(history)).toBeUndefined()
    expect(running(history)).toBe('web:4 blue')
  })

  test('a new revision ends a loop, with the spec as it was', () => {
    const history = historyOf([...upgrades, { ...images('web:4')[0], rest: { revision: '2' } } as Run])
    expect(loopOf(history)).toBeUndefined()
    expect(running(history)).toBe('web:4 blue')
  })

  test('counting starts again after it', () => {
    const rest = { revision: '2' }
    const next = (...values: string[]) => images(...values).map((run) => ({ ...run, rest }))
    expect(running(historyOf([...upgrades, ...next('web:5', 'web:6', 'web:7')]))).toBe('web:7 blue')
    expect(running(historyOf([...upgrades, ...next('web:5', 'web:6', 'web:7', 'web:8')]))).toBe('web:7 blue')
  })

  test.each([
    ['the config', { rest: { labels: { a: 'b' } } }],
    ['a new relation', { relations: { 7: { application: 'db', data: { host: 'db' } } } }],
  ])('a change of %s is a reason for another spec', (_, change) => {
    const [first, second, third, fourth] = upgrades
    expect(running(historyOf([first, second, third, { ...fourth, ...change }] as Run[]))).toBe('web:4 blue')
  })

  test('attempts that the API server refused do not count', () => {
    const attempt = (history: SpecHistory | undefined, image: string) =>
      observeSpec(history, {
        spec: podSpec(image),
        inputs: { rest: {}, relations: {} },
        known: NOTHING_KNOWN,
        now: NOW,
      })
    const refused = ['web:1', 'we b:2', 'we b:3'].reduce<SpecHistory | undefined>(
      (history, image) => withoutRun(attempt(history, image)),
      undefined,
    )
    expect(running(attempt(refused, 'web:4'))).toBe('web:4 blue')
  })

  test('what runs is accepted again when it is wanted again, and the loop is told until something changes', () => {
    const history = historyOf([...upgrades, ...images('web:3')])
    expect(running(history)).toBe('web:3 blue')
    expect(loopOf(history)).toBeDefined()
  })
})

describe('the probable cause is named', () => {
  const UUIDS = [1, 2, 3, 4].map((digit) => `0000000${digit}-0000-4000-8000-000000000000`)

  test.each([
    ['a unit', ['web/1', 'web/2', 'web/3', 'web/4'], 'web/4, the name of a unit'],
    ['a pod', ['web-a', 'web-b', 'web-c', 'at web-d:80'], 'web-d, the name of a pod'],
    ['an address of another', ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4:80'], '10.0.0.4, an address of db'],
    ['an address', ['10.9.0.1', '10.9.0.2', '10.9.0.3', 'http://10.9.0.4:80/'], 'what looks like an IP address'],
    ['an address of version 6', ['fd00::1', 'fd00::2', 'fd00::3', '[fd00::4]:80'], 'what looks like an IP address'],
    ['a UUID', UUIDS, 'what looks like a UUID'],
  ])('%s', (_, values, what) => {
    const known = new Map([
      ['web/4', 'the name of a unit'],
      ['web-d', 'the name of a pod'],
      ['10.0.0.4', 'an address of db'],
    ])
    expect(loopOf(historyOf(colours(...values), known))?.because).toMatch(
      new RegExp(`; containers\\[web\\]\\.env\\[COLOUR\\]\\.value holds ${what}$`),
    )
  })

  test.each([
    ['what is only a part of something longer', ['web/41', 'web/42', 'web/43', 'web/44 and my-web/4 and 110.0.0.4.5']],
    ['where to listen', ['0.0.0.0:1', '0.0.0.0:2', '127.0.0.1:3', '0.0.0.0:4 [::]:80']],
    ['a secret', ['x1', 'x2', 'x3', 'c2VjcmV0']],
  ])('not for %s, and no value is told that is not known', (_, values) => {
    const known = new Map([['web/4', 'the name of a unit']])
    expect(loopOf(historyOf(colours(...values), known))?.because).toMatch(/depend on did$/)
  })
})

const image = fc.constantFrom('1', '2', '3')

test('whatever else changes, what is new at each run is applied three times, and again with a new revision', () => {
  fc.assert(
    fc.property(fc.array(image, { minLength: 4, maxLength: 12 }), (versions) => {
      const runs = versions.map((version, index) => ({ spec: podSpec(version, `colour ${index}`) }))
      const history = historyOf(runs)
      expect(loopOf(history)?.paths).toContain('containers[web].env[COLOUR].value')
      expect(running(history)).toBe(`${versions[2]} colour 2`)
      const revised = historyOf([...runs, { spec: podSpec('9', 'z'), rest: { revision: '9' } }])
      expect(running(revised)).toBe('9 z')
      expect(loopOf(revised)).toBeUndefined()
    }),
  )
})

const anyRun = fc.record({
  spec: fc.tuple(image, fc.constantFrom('a', 'b')).map(([version, colour]) => podSpec(version, colour)),
  rest: fc.constantFrom({}, {}, {}, { revision: '2' }),
})

test('what is accepted is the spec that came last, or a loop says why not, and only an input ends it', () => {
  fc.assert(
    fc.property(fc.array(anyRun, { minLength: 2, maxLength: 20 }), (runs) => {
      const [history, before] = [historyOf(runs), historyOf(runs.slice(0, -1))]
      const last = runs.at(-1)
      if (loopOf(history) === undefined) expect(history.spec).toEqual(last?.spec)
      else expect(history.spec).toEqual(before.spec)
      const isOver = loopOf(before) !== undefined && loopOf(history) === undefined
      if (isOver) expect(history.inputs).not.toEqual(before.inputs)
    }),
    { numRuns: 500 },
  )
})
