import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  advance,
  compareMarks,
  eventPosition,
  isAfter,
  Mark,
  mergeMarks,
  type Position,
} from '../../../src/platform/base/event-order.ts'

const NOW = new Date('2026-01-01T00:01:00Z')
const FIVE_MINUTES = 5 * 60 * 1_000
const START = Date.parse('2026-01-01T00:00:00Z')

type Sent = { id: string; source: string; time: string; sequence: string }

const positionAt = (sent: Partial<Sent>, now = NOW): Position => {
  const { id = '1', source = '/a', time, sequence } = sent
  return eventPosition({ id, source, time, extensions: { ...(sequence !== undefined && { sequence }) } }, now)
}

let count = 0

/** The position of an event with an id of its own. */
const event = (sent: Partial<Sent> = {}): Position => {
  count += 1
  return positionAt({ id: `event-${count}`, ...sent })
}

const markOf = (...positions: readonly Position[]): Mark =>
  positions.reduce<Mark>(
    (before, position) => {
      const mark = advance(before, position)
      return typeof mark === 'string' ? before : mark
    },
    { at: -1 },
  )

const isCounted = (mark: Mark | 'repeated' | 'stale'): mark is Mark => typeof mark !== 'string'

describe('positionOf', () => {
  test.each<[string, Partial<Sent>, object]>([
    ['a time of the past', { time: '2026-01-01T00:00:00Z' }, { time: START }],
    ['a time of another zone', { time: '2026-01-01T01:00:00+01:00' }, { time: START }],
    ['a time with microseconds', { time: '2026-01-01T00:00:00.000250Z' }, { time: START + 0.25 }],
    ['the present time', { time: NOW.toISOString() }, { time: NOW.getTime() }],
    ['a time five minutes ahead', { time: '2026-01-01T00:06:00Z' }, { time: NOW.getTime() + FIVE_MINUTES }],
    [
      'a time further ahead, which counts as now',
      { time: '2026-01-01T00:06:00.001Z' },
      { time: NOW.getTime(), isClockWrong: true },
    ],
    ['a sequence', { sequence: '7' }, { sequence: '7' }],
    ['an empty sequence, which is none', { sequence: '' }, {}],
    ['both', { sequence: '7', time: '2026-01-01T00:00:00Z' }, { sequence: '7', time: START }],
    ['neither', {}, {}],
  ])('of %s', (_, sent, position) => {
    expect(positionAt(sent)).toEqual({ source: '/a', id: expect.any(String), arrived: NOW.getTime(), ...position })
  })

  test('positionOf has the same id for a redelivery alone', () => {
    const { id } = positionAt({ id: '1' })
    expect(positionAt({ id: '1', time: '2026-01-01T00:00:00Z', sequence: '1' }).id).toBe(id)
    expect([positionAt({ id: '2' }).id, positionAt({ id: '1', source: '/b' }).id]).not.toContain(id)
  })

  test('positionOf refuses a sequence of unreasonable length', () => {
    expect(positionAt({ sequence: '1'.repeat(256) })).toHaveProperty('sequence')
    expect(() => positionAt({ sequence: '1'.repeat(257) })).toThrow(/at most 256 characters, got 257/)
  })

  test('positionOf refuses a source that no record can have as a key', () => {
    expect(() => positionAt({ source: '__proto__' })).toThrow(/__proto__ cannot be remembered/)
  })
})

type Pair = [string, Partial<Sent>, Partial<Sent>]

const ORDERED: readonly Pair[] = [
  ['a lower number', { sequence: '9' }, { sequence: '10' }],
  ['a lower padded number', { sequence: '0009' }, { sequence: '0010' }],
  ['a lower number beyond integers', { sequence: '9'.repeat(30) }, { sequence: `1${'0'.repeat(30)}` }],
  ['an earlier word', { sequence: 'a' }, { sequence: 'b' }],
  ['a lower number with a later time', { sequence: '1', time: '2026-01-01T00:00:09Z' }, { sequence: '2' }],
  [
    'a lower number, both with times that say otherwise',
    { sequence: '1', time: '2026-01-01T00:00:09Z' },
    { sequence: '2', time: '2026-01-01T00:00:03Z' },
  ],
  ['an earlier time', { time: '2026-01-01T00:00:00.000001Z' }, { time: '2026-01-01T00:00:00.000002Z' }],
  ['an earlier time of another zone', { time: '2026-01-01T01:00:00+02:00' }, { time: '2026-01-01T00:00:00Z' }],
  [
    'a time that is ahead, and less so',
    { time: '2026-01-01T00:01:00.050Z' },
    { time: '2026-01-01T00:01:00.053Z', source: '/b' },
  ],
  ['the present time', { time: NOW.toISOString() }, { time: '2026-01-01T00:06:00Z' }],
  [
    'an earlier time of another source',
    { time: '2026-01-01T00:00:01Z', source: '/b' },
    { time: '2026-01-01T00:00:02Z' },
  ],
  [
    'an earlier time of another source that counts, too',
    { time: '2026-01-01T00:00:01Z', source: '/b', sequence: '99' },
    { time: '2026-01-01T00:00:02Z', sequence: '1' },
  ],
]

describe.each(ORDERED)('%s', (_, earlier, later) => {
  const [first, second] = [event(earlier), event(later)]

  test('an event counts when it comes first', () => {
    expect(isCounted(advance(undefined, first))).toBe(true)
    expect(isCounted(advance(markOf(first), second))).toBe(true)
    expect(markOf(first, second).at).toBeGreaterThan(markOf(first).at)
  })

  test('an event is stale when it comes last', () => {
    expect(advance(markOf(second), first)).toBe('stale')
  })

  test('an event is stale when another side knows the later one', () => {
    expect(advance(undefined, first, [undefined, markOf(second)])).toBe('stale')
    expect(isCounted(advance(markOf(first), second, [markOf(first)]))).toBe(true)
  })

  test('an event comes before the mark of the later one', () => {
    expect([isAfter(markOf(second), first), isAfter(markOf(first), second)]).toEqual([true, false])
  })
})

describe('an event with no order with regard to what is known counts when it comes', () => {
  test.each<Pair>([
    ['with neither after a sequence', { sequence: '5' }, {}],
    ['with neither after a time', { time: '2026-01-01T00:00:00Z' }, {}],
    ['with neither after one with neither', {}, {}],
    ['with a sequence after one with neither', {}, { sequence: '5' }],
    ['with a sequence after that of another source', { sequence: '5', source: '/b' }, { sequence: '1' }],
    ['with a time after one with neither', {}, { time: '2026-01-01T00:00:00Z' }],
    ['of the same time', { time: '2026-01-01T00:00:00Z' }, { time: '2026-01-01T00:00:00Z' }],
    ['of the same sequence', { sequence: '5' }, { sequence: '5' }],
    ['of a wrong clock, after the present', { time: NOW.toISOString() }, { time: '2099-01-01T00:00:00Z' }],
    ['with neither after one that is ahead', { time: '2026-01-01T00:06:00Z' }, {}],
    ['with neither after one of a wrong clock', { time: '2099-01-01T00:00:00Z' }, {}],
  ])('%s', (_, before, sent) => {
    const [known, position] = [markOf(event(before)), event(sent)]
    const mark = advance(known, position)
    expect(isCounted(mark) && mark.at).toBeGreaterThan(known.at)
    expect(isAfter(known, position), 'what is known is not after it').toBe(false)
  })

  test('after a time of a wrong clock the present goes on', () => {
    const known = markOf(event({ time: '2099-01-01T00:00:00Z' }))
    expect(known.at).toBe(NOW.getTime())
    const later = eventPosition(
      { id: 'later', source: '/a', time: '2026-01-01T00:01:01Z', extensions: {} },
      new Date(NOW.getTime() + 2_000),
    )
    expect(advance(known, later)).toMatchObject({ at: NOW.getTime() + 1_000 })
  })

  test('an event with no order with regard to what is known counts when it comes later than what all sides know', () => {
    const others = [markOf(event({ time: '2026-01-01T00:00:05Z' })), undefined, { at: START }]
    expect(advance({ at: 3 }, event(), others)).toMatchObject({ at: START + 5_001 })
  })
})

describe('a redelivery', () => {
  test.each<[string, Partial<Sent>]>([
    ['by sequence', { sequence: '1' }],
    ['by time', { time: '2026-01-01T00:00:00Z' }],
    ['by neither', {}],
  ])('a redelivery says nothing new, %s', (_, sent) => {
    const first = event(sent)
    const known = markOf(first)
    expect(advance(known, first)).toBe('repeated')
    const next = markOf(first, event({ ...sent, sequence: '2' }))
    expect(advance(next, first), 'after a later one').toBe('repeated')
  })

  test('a redelivery is known by source and id: the same id of another source is another event', () => {
    const first = positionAt({ id: 'x' })
    expect(advance(markOf(first), positionAt({ id: 'x', source: '/b' }))).toMatchObject({ at: expect.any(Number) })
  })

  test('a redelivery is known where another side took the event, once both marks are one', () => {
    const [first, second] = [event({ time: '2026-01-01T00:00:01Z' }), event({ time: '2026-01-01T00:00:02Z' })]
    const merged = mergeMarks(markOf(first), markOf(second))
    expect([first, second].map((position) => advance(merged, position))).toEqual(['repeated', 'repeated'])
  })
})

test.each([['constructor'], ['toString'], ['7']])('a source may be called %s', (source) => {
  const mark = markOf(event({ sequence: '2', source }))
  expect(advance(mark, event({ sequence: '1', source }))).toBe('stale')
  expect(advance(undefined, event({ sequence: '1', source }))).toMatchObject({ sequences: { [source]: '1' } })
  expect(mergeMarks(mark, markOf(event({ sequence: '3', source }))).sequences).toEqual({ [source]: '3' })
})

describe('compareMarks', () => {
  test.each<[string, Mark, Mark, number]>([
    [
      'by the sequence of a source that both know',
      { at: 9, sequences: { '/a': '9' } },
      { at: 5, sequences: { '/a': '10' } },
      -1,
    ],
    [
      'by time, where no source is known to both',
      { at: 9, sequences: { '/a': '1' } },
      { at: 5, sequences: { '/b': '2' } },
      1,
    ],
    [
      'by time, where both know the same of a source',
      { at: 5, sequences: { '/a': '1' } },
      { at: 9, sequences: { '/a': '1' } },
      -1,
    ],
    [
      'by time, where two sources say otherwise',
      { at: 9, sequences: { '/a': '1', '/b': '2' } },
      { at: 5, sequences: { '/a': '2', '/b': '1' } },
      1,
    ],
    ['as the same', { at: 5, ids: ['a'] }, { at: 5, ids: ['b'] }, 0],
  ])('compareMarks compares %s', (_, one, other, order) => {
    expect([Math.sign(compareMarks(one, other)), 0 - Math.sign(compareMarks(other, one))]).toEqual([order, order])
  })
})

describe('mergedMarks', () => {
  const one: Mark = { at: 5, ids: ['a', 'b'], sequences: { '/a': '9', '/b': '1' } }
  const other: Mark = { at: 7, ids: ['b', 'c'], sequences: { '/a': '10', '/c': '1' } }

  test.each([
    ['the later one last', one, other],
    ['the later one first', other, one],
  ])('mergedMarks is as late as the later one, and knows all events: %s', (_, left, right) => {
    const { ids = [], ...merged } = mergeMarks(left, right)
    expect(merged).toEqual({ at: 7, sequences: { '/a': '10', '/b': '1', '/c': '1' } })
    expect(ids.toSorted()).toEqual(['a', 'b', 'c'])
  })

  test('of a mark with itself is that mark', () => {
    expect([mergeMarks(one, one), mergeMarks({ at: 3 }, { at: 3 })]).toEqual([one, { at: 3 }])
  })

  test('mergedMarks takes nothing back: a later mark with a lower sequence leaves the higher one', () => {
    expect(mergeMarks({ at: 1, sequences: { '/a': '10' } }, { at: 2, sequences: { '/a': '9' } }).sequences).toEqual({
      '/a': '10',
    })
  })
})

describe('a sender that changes with every event does not fill the memory', () => {
  const senders = Array.from({ length: 100 }, (_, index) => event({ source: `/source/${index}`, sequence: '1' }))

  test('a sender that changes with every event does not fill the memory by its source: the last 16 are remembered', () => {
    const { sequences = {} } = markOf(...senders)
    expect(Object.keys(sequences)).toEqual(senders.slice(-16).map(({ source }) => source))
  })

  test('a sender that changes with every event does not fill the memory by its id: the last 16 are remembered', () => {
    expect(markOf(...senders).ids).toEqual(senders.slice(-16).map(({ id }) => id))
  })

  test('a sender that changes with every event does not fill the memory through what both sides know of it', () => {
    const merged = senders
      .map((position) => markOf(position))
      .reduce((before, mark) => mergeMarks(before, mark), { at: 0 })
    expect([merged.ids?.length, Object.keys(merged.sequences ?? {}).length]).toEqual([16, 16])
  })
})

test('a mark beyond all dates is unreadable, as nothing could come after it', () => {
  expect(Mark.safeParse({ at: 1e300 }).success).toBe(false)
  expect(Mark.safeParse({ at: 8_640_000_000_000_000 }).success).toBe(true)
})

describe('whatever the order of arrival', () => {
  const lastOf = (arrivals: readonly Position[]): Position | undefined => {
    let mark: Mark | undefined
    let last: Position | undefined
    for (const position of arrivals) {
      const next = advance(mark, position)
      if (!isCounted(next)) continue
      if (mark) expect(next.at).toBeGreaterThan(mark.at)
      mark = next
      last = position
    }
    return last
  }
  const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 8 })
  const redelivered = numbers.chain((sent) =>
    fc
      .shuffledSubarray([...sent, ...sent], { minLength: sent.length * 2 })
      .map((arrivals) => ({ arrivals, highest: Math.max(...sent) })),
  )

  test.each<[string, (number: number) => Partial<Sent>]>([
    ['by sequence', (number) => ({ sequence: String(number) })],
    ['by time', (number) => ({ time: new Date(START + number).toISOString() })],
    [
      'by sequence, with times the other way round',
      (number) => ({ sequence: String(number), time: new Date(START + 1_000 - number).toISOString() }),
    ],
    [
      'by time, of two sources',
      (number) => ({ source: `/source/${number % 2}`, time: new Date(START + number).toISOString() }),
    ],
  ])('the last remains, %s', (_, sentAt) => {
    fc.assert(
      fc.property(redelivered, ({ arrivals, highest }) => {
        const last = lastOf(arrivals.map((number) => positionAt({ id: String(number), ...sentAt(number) })))
        expect(last?.id).toBe(positionAt({ id: String(highest), ...sentAt(highest) }).id)
      }),
    )
  })

  test('without an order the last event to come counts, redelivered or not', () => {
    fc.assert(
      fc.property(numbers, (sent) => {
        const arrivals = [...sent, ...sent].map((number) => positionAt({ id: String(number) }))
        expect(lastOf(arrivals)?.id).toBe(positionAt({ id: String(sent.at(-1)) }).id)
      }),
    )
  })
})
