import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Churn, DEFAULT_CHURN } from '../../../src/workload/churn/config.ts'
import {
  churnMessage,
  findChurn,
  observeSpec,
  SpecHistory,
  type SpecObservation,
  withoutRun,
} from '../../../src/workload/churn/history.ts'
import type { PodSpec } from '../../../src/workload/pod-spec.ts'
import { runs } from '../../helpers/runs.ts'
import { podSpec, reordered } from '../samples.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

type Told = Partial<Omit<SpecObservation, 'spec' | 'now'>> & { spec: PodSpec; after?: number }

const stored = (history: SpecHistory | undefined): SpecHistory | undefined =>
  history && SpecHistory.parse(JSON.parse(JSON.stringify(history)))

/** The history after these specs were told, each by a unit a minute after the one before where nothing else is said. */
const historyOf = (all: readonly Told[], before?: SpecHistory): SpecHistory | undefined => {
  let [history, time] = [before, START]
  for (const { after = MINUTE, ...told } of all) {
    time += after
    const observation = { by: 'unit' as const, databags: [], known: new Map(), churn: DEFAULT_CHURN, ...told }
    history = stored(observeSpec(history, { ...observation, now: new Date(time) }))
  }
  return history
}

const colours = (values: readonly string[], others: Partial<Told> = {}): Told[] =>
  values.map((value) => ({ spec: podSpec('web:1', value), ...others }))
const images = (values: readonly string[], others: Partial<Told> = {}): Told[] =>
  values.map((value) => ({ spec: podSpec(value), ...others }))

const running = (history: SpecHistory | undefined) => {
  const [container] = history?.spec.containers ?? []
  return [container?.image, container?.env?.[0]?.value].join(' ')
}

const SEVEN = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const PATH = 'containers[web].env[COLOUR].value'

describe('a spec that a unit makes new at each run', () => {
  test('is applied five times within half an hour, then no more, and the place is named', () => {
    expect(findChurn(historyOf(colours(SEVEN.slice(0, 6))))).toBeUndefined()
    expect(running(historyOf(colours(SEVEN.slice(0, 6))))).toBe('web:1 f')
    const history = historyOf(colours(SEVEN))
    expect(running(history)).toBe('web:1 f')
    expect(findChurn(history)).toEqual({
      paths: [PATH],
      because: 'units changed it 5 times within 30 minutes, and again',
    })
  })

  test('stays so for as long as it goes on, however slowly', () => {
    const history = historyOf([...colours(SEVEN), ...colours(['h', 'i', 'j', 'k'], { after: 29 * MINUTE })])
    expect(running(history)).toBe('web:1 f')
    expect(findChurn(history)).toBeDefined()
  })

  test('is told with the way out', () => {
    const loop = findChurn(historyOf(colours(SEVEN)))
    expect(loop && churnMessage(loop)).toMatch(/what runs stays.*env\[COLOUR\]\.value.*person or a document.*churn/s)
  })

  test('is found where two specs alternate, as two replicas tell them', () => {
    expect(findChurn(historyOf(colours(['a', 'b', 'a', 'b', 'a', 'b', 'a'])))?.paths).toEqual([PATH])
  })

  test('is found whatever else changes in it, and only what differs each time is named', () => {
    const all = SEVEN.map((value, index) => ({ spec: podSpec(`web:${index < 4 ? 1 : 2}`, value) }))
    expect(findChurn(historyOf(all))?.paths).toEqual([PATH])
  })

  test('is found at the list where its names are made up', () => {
    const all = SEVEN.map((name) => ({
      spec: { containers: [{ name: 'web', image: 'web:1', env: [{ name, value: 'x' }] }] },
    }))
    expect(findChurn(historyOf(all))?.paths).toEqual(['containers[web].env'])
  })

  test('is not lost among very many places that change once', () => {
    const all = SEVEN.map((value, index) => {
      const others = Array.from({ length: 300 }, (_, number) => ({ name: `V${number}`, value: `${index === 3}` }))
      return { spec: { containers: [{ name: 'web', image: 'web:1', env: [...others, { name: 'Z', value }] }] } }
    })
    expect(findChurn(historyOf(all))?.paths).toEqual(['containers[web].env[Z].value'])
  })

  test('is told with ten places at most, and remembered with a hundred', () => {
    const all = SEVEN.map((value) => {
      const env = Array.from({ length: 300 }, (_, index) => ({ name: `V${index}`, value }))
      return { spec: { containers: [{ name: 'web', image: 'web:1', env }] } }
    })
    expect(findChurn(historyOf(all))?.paths).toHaveLength(10)
    expect(Object.keys(historyOf(all.slice(0, 3))?.recent ?? {})).toHaveLength(100)
  })

  test.each<[string, Churn, number]>([
    ['one change in a day', { changes: 1, minutes: 1_440 }, 1],
    ['as many as there are', { changes: 100, minutes: 30 }, 6],
  ])('may change as often as the config says: %s', (_, churn, applied) => {
    expect(running(historyOf(colours(SEVEN, { churn })))).toBe(`web:1 ${SEVEN[applied]}`)
  })
})

describe('no loop', () => {
  const grown = (count: number) => {
    const env = Array.from({ length: count }, (_, index) => ({ name: `V${index}`, value: 'x' }))
    return { spec: { containers: [{ name: 'web', image: 'web:1', env }] } }
  }

  test.each<[string, Told[]]>([
    ['a person updates the image seven times in a minute', images(SEVEN, { by: 'person', after: 8_000 })],
    ['a document changes seven times in a minute', images(SEVEN, { by: 'document', after: 8_000 })],
    ['a unit takes over what changes every ten minutes', colours(SEVEN, { after: 10 * MINUTE })],
    ['a unit takes over what changes once a month', colours(SEVEN, { after: 30 * DAY })],
    ['variables are added one after another', [1, 2, 3, 4, 5, 6, 7].map(grown)],
    ['an equal spec is told again and again', SEVEN.map(() => ({ spec: reordered(podSpec()) }))],
    [
      'a URL of another application changes three times in half an hour, and a person takes it over',
      colours(['http://a', 'http://b', 'http://c'], {
        by: 'person',
        after: 10 * MINUTE,
        databags: [{ application: 'db', data: ['http://a', 'http://b', 'http://c'] }],
      }),
    ],
  ])('%s', (_, told) => {
    const history = historyOf(told)
    expect(findChurn(history)).toBeUndefined()
    expect(history?.spec).toEqual(told.at(-1)?.spec)
  })

  test('a month of image updates, and a rollback, all by people', () => {
    const updates = Array.from({ length: 30 }, (_, day) => `web:${day}`)
    for (const image of updates.keys())
      expect(running(historyOf(images(updates.slice(0, image + 1), { by: 'person', after: DAY })))).toBe(
        `web:${image} blue`,
      )
    const back = images(['web:28'], { by: 'person', after: MINUTE })
    expect(running(historyOf([...images(updates, { by: 'person', after: DAY }), ...back]))).toBe('web:28 blue')
  })

  test('an equal spec leaves the memory as it is', () => {
    const history = historyOf(colours(['a', 'b']))
    const again = { by: 'unit', databags: [], known: new Map(), churn: DEFAULT_CHURN, now: new Date() } as const
    expect(observeSpec(history, { ...again, spec: reordered(podSpec('web:1', 'b')) })).toBe(history)
  })

  test('attempts that the API server refused do not count', () => {
    const refused = colours(SEVEN).reduce<SpecHistory | undefined>((history, told) => {
      const next = historyOf([told], history)
      return next && withoutRun(next)
    }, undefined)
    expect(running(historyOf(colours(['h']), refused))).toBe('web:1 h')
  })
})

describe('the way on', () => {
  test.each(['person', 'document'] as const)('a %s tells another spec', (by) => {
    const history = historyOf([...colours(SEVEN), ...colours(['h'], { by })])
    expect([running(history), findChurn(history)]).toEqual(['web:1 h', undefined])
    expect(running(historyOf(colours(SEVEN), history))).toBe('web:1 e')
  })

  test('a person wants what runs', () => {
    const history = historyOf([...colours(SEVEN), ...colours(['f'], { by: 'person' })])
    expect([running(history), findChurn(history)]).toEqual(['web:1 f', undefined])
  })

  test('the unit leaves the place alone', () => {
    const history = historyOf([...colours(SEVEN), { spec: podSpec('web:2', 'f') }])
    expect([running(history), findChurn(history)]).toEqual(['web:2 f', undefined])
  })

  test('the unit means the same for half an hour', () => {
    const settled = colours(['g', 'g', 'g', 'g'], { after: 10 * MINUTE })
    expect(running(historyOf([...colours(SEVEN), ...settled.slice(0, 3)]))).toBe('web:1 f')
    const history = historyOf([...colours(SEVEN), ...settled])
    expect([running(history), findChurn(history)]).toEqual(['web:1 g', undefined])
  })
})

describe('two applications that keep changing each other', () => {
  const ADDRESSES = SEVEN.map((_, index) => `10.0.0.${index}`)

  /** The spec takes over an address that db tells. */
  const takeOver = (say: (address: string) => unknown, others: Partial<Told> = {}): Told[] =>
    ADDRESSES.map((address) => ({
      spec: podSpec('web:1', `postgres://${address}/`),
      databags: [{ application: 'db', data: say(address) }],
      ...others,
    }))

  test.each<[string, (address: string) => unknown]>([
    ['plain text', (host) => ({ data: { host } })],
    ['strings of JSON', (host) => ({ data: { endpoint: JSON.stringify({ hosts: [host] }) } })],
    ['what units say', (host) => ({ data: {}, units: { 'db/0': { 'private-address': JSON.stringify(host) } } })],
  ])('are found, and the other one is named: in %s', (_, say) => {
    for (const by of ['unit', 'person'] as const) {
      const history = historyOf(takeOver(say, { by }))
      expect(running(history)).toBe('web:1 postgres://10.0.0.5/')
      expect(findChurn(history)?.because).toBe(
        'it copied data of db 5 times within 30 minutes, and again: this application and db keep changing each other; ' +
          `${PATH} holds what looks like an IP address`,
      )
    }
  })

  test('a document is somebody’s word even then', () => {
    expect(findChurn(historyOf(takeOver((host) => ({ host }), { by: 'document' })))).toBeUndefined()
  })

  test.each<[string, Told[]]>([
    [
      'what is taken over was there before',
      colours(
        SEVEN.map((value) => `post${value}`),
        { by: 'person', databags: [{ application: 'db', data: 'post' }] },
      ),
    ],
    ['short values are everywhere', colours(SEVEN, { by: 'person', databags: [{ application: 'db', data: SEVEN }] })],
    [
      'of very many values the first are looked at',
      takeOver((host) => [...Array.from({ length: 1_000 }, (_, index) => `other-${index}`), host], { by: 'person' }),
    ],
    [
      'JSON in a string is nested as deep as it likes',
      takeOver((host) => ({ host: `${'['.repeat(100_000)}"${host}"${']'.repeat(100_000)}` }), { by: 'person' }),
    ],
  ])('are no loop where %s', (_, told) => {
    expect(findChurn(historyOf(told))).toBeUndefined()
  })
})

describe('the probable cause is named', () => {
  const known = new Map([
    ['web/6', 'the name of a unit'],
    ['web-d', 'the name of a pod'],
    ['10.0.0.6', 'an address of db'],
  ])
  const because = (last: string) =>
    findChurn(historyOf(colours([...SEVEN.slice(0, 6).map((value) => `${value}${last}`), last], { known })))?.because

  test.each([
    ['a unit', 'web/6', 'web/6, the name of a unit'],
    ['a pod', 'at web-d:80', 'web-d, the name of a pod'],
    ['an address of another', '10.0.0.6:80', '10.0.0.6, an address of db'],
    ['an address', 'http://10.9.0.4:80/', 'what looks like an IP address'],
    ['an address of version 6', '[fd00::4]:80', 'what looks like an IP address'],
    ['a UUID', '00000004-0000-4000-8000-000000000000', 'what looks like a UUID'],
  ])('%s', (_, last, what) => {
    expect(because(last)).toMatch(new RegExp(`; containers\\[web\\]\\.env\\[COLOUR\\]\\.value holds ${what}$`))
  })

  test.each([
    ['what is only a part of something longer', 'web/64 and my-web/6 and 110.0.0.6.5'],
    ['where to listen', '0.0.0.0:4 [::]:80'],
    ['a secret', 'c2VjcmV0'],
  ])('not for %s, and no value is told that is not known', (_, last) => {
    expect(because(last)).toMatch(/and again$/)
  })
})

describe('a memory of before', () => {
  const former = { spec: podSpec('web:3'), inputs: { rest: 'x', relations: {} } }

  test('is read, and what it counted does not count', () => {
    const { run: _, ...rest } = { ...former, run: { at: '2026-01-01T00:00:00Z', streaks: [] } }
    expect(running(historyOf(images(['web:4']), stored(rest)))).toBe('web:4 blue')
  })

  test('in which a loop was found is looked at anew: what the config says is applied', () => {
    expect(SpecHistory.parse({ ...former, loop: { paths: ['containers[web].image'], holds: [] } })).toBeUndefined()
  })

  test('is what this one looks like to a program of before', () => {
    expect(historyOf(images(['web:1']))?.inputs).toEqual({ rest: '', relations: {} })
    expect(historyOf(colours(SEVEN))?.inputs).toEqual({ rest: '', relations: {} })
  })
})

const anyTold = fc.record({
  spec: fc
    .tuple(fc.constantFrom('1', '2', '3'), fc.constantFrom('a', 'b'))
    .map(([image, colour]) => podSpec(image, colour)),
  by: fc.constantFrom('unit' as const, 'unit' as const, 'unit' as const, 'person' as const, 'document' as const),
  after: fc.constantFrom(1_000, MINUTE, 20 * MINUTE),
})

test('what runs is the spec that was told last, or a loop says why not; a person’s word always runs', () => {
  fc.assert(
    fc.property(fc.array(anyTold, { minLength: 2, maxLength: 30 }), (told) => {
      const [history, before] = [historyOf(told), historyOf(told.slice(0, -1))]
      const last = told.at(-1)
      if (findChurn(history) === undefined || last?.by !== 'unit') expect(history?.spec).toEqual(last?.spec)
      else expect(history?.spec).toEqual(before?.spec)
    }),
    { numRuns: runs(500) },
  )
})

test('no place is changed by units more often than the config allows', () => {
  fc.assert(
    fc.property(fc.array(anyTold, { minLength: 2, maxLength: 40 }), (told) => {
      const all = told.map((one) => ({ ...one, by: 'unit' as const }))
      const times: number[] = []
      let [history, now] = [undefined as SpecHistory | undefined, START]
      for (const one of all) {
        now += one.after
        const next = historyOf([{ ...one, after: now - START }], history)
        if (history && next?.spec.containers[0]?.image !== history.spec.containers[0]?.image) times.push(now)
        history = next
      }
      const { changes, minutes } = DEFAULT_CHURN
      for (const [index, time] of times.entries())
        expect(time - (times[index - changes] ?? 0)).toBeGreaterThanOrEqual(minutes * MINUTE)
    }),
    { numRuns: runs(200) },
  )
})
