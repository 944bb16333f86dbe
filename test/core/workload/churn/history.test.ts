import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { churnMessage, findChurn } from '../../../../src/core/workload/churn/evidence.ts'
import {
  ConfigChurn,
  type ConfigObservation,
  judgeConfig,
  withoutRun,
} from '../../../../src/core/workload/churn/history.ts'
import { type Churn, DEFAULT_CHURN } from '../../../../src/core/workload/churn/limit.ts'
import type { PodWorkload } from '../../../../src/core/workload/config.ts'
import type { PodSpec } from '../../../../src/core/workload/pod-spec.ts'
import { runs } from '../../../helpers/runs.ts'
import { podSpec, reordered } from '../samples.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

type Told = Partial<Omit<ConfigObservation, 'before' | 'told' | 'now'>> & { spec: PodSpec; after?: number }

/** A config's workload, and the changes that units made to it. */
type History = { readonly workload: PodWorkload; readonly churn: ConfigChurn | undefined }

const stored = (churn: ConfigChurn | undefined): ConfigChurn | undefined =>
  churn && ConfigChurn.parse(JSON.parse(JSON.stringify(churn)))

/** The history after these specs were told, each by a unit a minute after the one before where nothing else is said. */
const historyOf = (all: readonly Told[], before?: History): History | undefined => {
  let [history, time] = [before, START]
  for (const { after = MINUTE, spec, ...told } of all) {
    time += after
    const observation = { by: 'unit' as const, databags: [], known: new Map(), churn: DEFAULT_CHURN, ...told }
    const config = { workload: { podSpec: spec } }
    const judged = judgeConfig(history?.churn, {
      ...observation,
      before: history && { workload: history.workload },
      told: config,
      now: new Date(time),
    })
    history = { workload: judged.config.workload as PodWorkload, churn: stored(judged.history) }
  }
  return history
}

const churnOf = (history: History | undefined) => findChurn(history?.churn)[0]

const colours = (values: readonly string[], others: Partial<Told> = {}): Told[] =>
  values.map((value) => ({ spec: podSpec('web:1', value), ...others }))
const images = (values: readonly string[], others: Partial<Told> = {}): Told[] =>
  values.map((value) => ({ spec: podSpec(value), ...others }))

const running = (history: History | undefined) => {
  const [container] = history?.workload.podSpec.containers ?? []
  return [container?.image, container?.env?.[0]?.value].join(' ')
}

const SEVEN = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const PATH = 'workload.podSpec.containers[web].env[COLOUR].value'

describe('a spec that a unit makes new at each run', () => {
  test('is applied five times within half an hour, then no more, and the place is named', () => {
    expect(churnOf(historyOf(colours(SEVEN.slice(0, 6))))).toBeUndefined()
    expect(running(historyOf(colours(SEVEN.slice(0, 6))))).toBe('web:1 f')
    const history = historyOf(colours(SEVEN))
    expect(running(history)).toBe('web:1 f')
    expect(churnOf(history)).toEqual({
      part: 'workload',
      paths: [PATH],
      because: 'units changed it 5 times within 30 minutes, and again',
    })
  })

  test('stays so for as long as it goes on, however slowly', () => {
    const history = historyOf([...colours(SEVEN), ...colours(['h', 'i', 'j', 'k'], { after: 29 * MINUTE })])
    expect(running(history)).toBe('web:1 f')
    expect(churnOf(history)).toBeDefined()
  })

  test('is told with the way out', () => {
    const loop = churnOf(historyOf(colours(SEVEN)))
    expect(loop && churnMessage(loop)).toMatch(
      /the running value stays.*env\[COLOUR\]\.value.*person or a document.*churn/s,
    )
  })

  test('is found where two specs alternate, as two replicas tell them', () => {
    expect(churnOf(historyOf(colours(['a', 'b', 'a', 'b', 'a', 'b', 'a'])))?.paths).toEqual([PATH])
  })

  test('is found whatever else changes in it, and only what differs each time is named', () => {
    const all = SEVEN.map((value, index) => ({ spec: podSpec(`web:${index < 4 ? 1 : 2}`, value) }))
    expect(churnOf(historyOf(all))?.paths).toEqual([PATH])
  })

  test('is found at the list where its names are made up', () => {
    const all = SEVEN.map((name) => ({
      spec: { containers: [{ name: 'web', image: 'web:1', env: [{ name, value: 'x' }] }] },
    }))
    expect(churnOf(historyOf(all))?.paths).toEqual(['workload.podSpec.containers[web].env'])
  })

  test('is not lost among very many places that change once', () => {
    const all = SEVEN.map((value, index) => {
      const others = Array.from({ length: 300 }, (_, number) => ({ name: `V${number}`, value: `${index === 3}` }))
      return { spec: { containers: [{ name: 'web', image: 'web:1', env: [...others, { name: 'Z', value }] }] } }
    })
    expect(churnOf(historyOf(all))?.paths).toEqual(['workload.podSpec.containers[web].env[Z].value'])
  })

  test('is told with ten places at most, and remembered with a hundred', () => {
    const all = SEVEN.map((value) => {
      const env = Array.from({ length: 300 }, (_, index) => ({ name: `V${index}`, value }))
      return { spec: { containers: [{ name: 'web', image: 'web:1', env }] } }
    })
    expect(churnOf(historyOf(all))?.paths).toHaveLength(10)
    expect(Object.keys(historyOf(all.slice(0, 3))?.churn?.workload?.recent ?? {})).toHaveLength(100)
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
    expect(churnOf(history)).toBeUndefined()
    expect(history?.workload.podSpec).toEqual(told.at(-1)?.spec)
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
    expect(historyOf([{ spec: reordered(podSpec('web:1', 'b')) }], history)).toEqual(history)
  })

  test('attempts that the API server refused do not count', () => {
    const refused = colours(SEVEN).reduce<History | undefined>((history, told) => {
      const next = historyOf([told], history)
      return next && { ...next, churn: next.churn && withoutRun(next.churn) }
    }, undefined)
    expect(running(historyOf(colours(['h']), refused))).toBe('web:1 h')
  })
})

describe('the way on', () => {
  test.each(['person', 'document'] as const)('a %s tells another spec', (by) => {
    const history = historyOf([...colours(SEVEN), ...colours(['h'], { by })])
    expect([running(history), churnOf(history)]).toEqual(['web:1 h', undefined])
    expect(running(historyOf(colours(SEVEN), history))).toBe('web:1 e')
  })

  test('a person wants what runs', () => {
    const history = historyOf([...colours(SEVEN), ...colours(['f'], { by: 'person' })])
    expect([running(history), churnOf(history)]).toEqual(['web:1 f', undefined])
  })

  test('the unit leaves the place alone', () => {
    const history = historyOf([...colours(SEVEN), { spec: podSpec('web:2', 'f') }])
    expect([running(history), churnOf(history)]).toEqual(['web:2 f', undefined])
  })

  test('the unit means the same for half an hour', () => {
    const settled = colours(['g', 'g', 'g', 'g'], { after: 10 * MINUTE })
    expect(running(historyOf([...colours(SEVEN), ...settled.slice(0, 3)]))).toBe('web:1 f')
    const history = historyOf([...colours(SEVEN), ...settled])
    expect([running(history), churnOf(history)]).toEqual(['web:1 g', undefined])
  })

  test('what a unit has meant for half an hour counts once, and the next change is held back at once', () => {
    const settled = colours(['g', 'g', 'g', 'g'], { after: 10 * MINUTE })
    const history = historyOf([...colours(SEVEN), ...settled, ...colours(['h'])])
    expect([running(history), churnOf(history)?.paths]).toEqual(['web:1 g', [PATH]])
  })

  test('two specs that alternate are not one that is meant, however long they do', () => {
    const alternating = Array.from({ length: 60 }, (_, index) => (index % 2 ? 'a' : 'b'))
    const history = historyOf(colours(alternating, { after: 5 * MINUTE }))
    expect(churnOf(history)?.paths).toEqual([PATH])
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
    const history = historyOf(takeOver(say))
    expect(running(history)).toBe('web:1 postgres://10.0.0.5/')
    expect(churnOf(history)?.because).toBe(
      'it copied data of db 5 times within 30 minutes, and again: this application and db keep changing each other; ' +
        `${PATH} holds what looks like an IP address`,
    )
  })

  test.each(['person', 'document'] as const)('are no loop where a %s tells it: that always counts', (by) => {
    const history = historyOf(takeOver((host) => ({ host }), { by }))
    expect([running(history), churnOf(history)]).toEqual(['web:1 postgres://10.0.0.6/', undefined])
  })

  test.each<[string, Told[]]>([
    [
      'what is taken over was there before',
      colours(
        SEVEN.map((value) => `post${value}`),
        { databags: [{ application: 'db', data: 'post' }] },
      ),
    ],
    ['short values are everywhere', colours(SEVEN, { databags: [{ application: 'db', data: SEVEN }] })],
    [
      'the data stay as they are while a unit alternates between two values, of which one is in them',
      colours(['true', 'false', 'true', 'false', 'true', 'false', 'true'], {
        databags: [{ application: 'db', data: { tls: 'true' } }],
      }),
    ],
    [
      'of very many values the first are looked at',
      takeOver((host) => [...Array.from({ length: 1_000 }, (_, index) => `other-${index}`), host]),
    ],
    [
      'JSON in a string is nested as deep as it likes',
      takeOver((host) => ({ host: `${'['.repeat(100_000)}"${host}"${']'.repeat(100_000)}` })),
    ],
  ])('are not blamed where %s', (_, told) => {
    expect(churnOf(historyOf(told))?.because).toMatch(/^units changed it 5 times/)
  })
})

describe('the probable cause is named', () => {
  const known = new Map([
    ['web/6', 'the name of a unit'],
    ['web-d', 'the name of a pod'],
    ['10.0.0.6', 'an address of db'],
  ])
  const because = (last: string) =>
    churnOf(historyOf(colours([...SEVEN.slice(0, 6).map((value) => `${value}${last}`), last], { known })))?.because

  test.each([
    ['a unit', 'web/6', 'web/6, the name of a unit'],
    ['a pod', 'at web-d:80', 'web-d, the name of a pod'],
    ['an address of another', '10.0.0.6:80', '10.0.0.6, an address of db'],
    ['an address', 'http://10.9.0.4:80/', 'what looks like an IP address'],
    ['an address of version 6', '[fd00::4]:80', 'what looks like an IP address'],
    ['a UUID', '00000004-0000-4000-8000-000000000000', 'what looks like a UUID'],
  ])('%s', (_, last, what) => {
    expect(because(last)).toMatch(
      new RegExp(`; workload\\.podSpec\\.containers\\[web\\]\\.env\\[COLOUR\\]\\.value holds ${what}$`),
    )
  })

  test.each([
    ['what is only a part of something longer', 'web/64 and my-web/6 and 110.0.0.6.5'],
    ['where to listen', '0.0.0.0:4 [::]:80'],
    ['a secret', 'c2VjcmV0'],
  ])('not for %s, and no value is told that is not known', (_, last) => {
    expect(because(last)).toMatch(/and again$/)
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
      if (churnOf(history) === undefined || last?.by !== 'unit') expect(history?.workload.podSpec).toEqual(last?.spec)
      else expect(history?.workload.podSpec).toEqual(before?.workload.podSpec)
    }),
    { numRuns: runs(500) },
  )
})

test('no place is changed by units more often than the config allows', () => {
  fc.assert(
    fc.property(fc.array(anyTold, { minLength: 2, maxLength: 40 }), (told) => {
      const all = told.map((one) => ({ ...one, by: 'unit' as const }))
      const times: number[] = []
      let [history, now] = [undefined as History | undefined, START]
      for (const one of all) {
        now += one.after
        const next = historyOf([{ ...one, after: now - START }], history)
        if (history && next?.workload.podSpec.containers[0]?.image !== history.workload.podSpec.containers[0]?.image)
          times.push(now)
        history = next
      }
      const { changes, minutes } = DEFAULT_CHURN
      for (const [index, time] of times.entries())
        expect(time - (times[index - changes] ?? 0)).toBeGreaterThanOrEqual(minutes * MINUTE)
    }),
    { numRuns: runs(200) },
  )
})
