import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { accept, isOvertaken, isStale, positionOf } from '../src/order.ts'
import { emptyState, type State } from '../src/state.ts'

const at = (value: string | undefined, source = '/a') => ({ source, at: value })

describe('an event goes backwards', () => {
  test.each([
    ['a lower number', 'sequence 10', 'sequence 9'],
    ['a lower padded number', 'sequence 0010', 'sequence 0009'],
    ['an earlier word', 'sequence b', 'sequence a'],
    ['an earlier time', 'time 2026-01-01T00:00:00.000000002Z', 'time 2026-01-01T00:00:00.000000001Z'],
    ['an earlier time of another zone', 'time 2026-01-01T00:00:00Z', 'time 2026-01-01T01:00:00+02:00'],
  ])('%s', (_, before, late) => {
    const state = accept(emptyState(), 'config', at(before))
    expect(isStale(state, 'config', at(late))).toBe(true)
    expect(isStale(state, 'config', at(before)), 'a repeat').toBe(false)
    expect(isStale(state, 'config', at(late, '/b')), 'another source').toBe(false)
    expect(isStale(state, 'relation/1', at(late)), 'about something else').toBe(false)
    expect(isStale(accept(emptyState(), 'config', at(late)), 'config', at(before)), 'the other way round').toBe(false)
  })

  test('never without a position, and a sequence is not compared with a time', () => {
    const state = accept(emptyState(), 'config', at('sequence 5'))
    expect(isStale(state, 'config', at(undefined))).toBe(false)
    expect(isStale(state, 'config', at('time 2020-01-01T00:00:00Z'))).toBe(false)
  })
})

describe('a tombstone', () => {
  const gone = accept(
    accept(emptyState(), 'relation/7', at('sequence 1')),
    'relation/7',
    at('sequence 2'),
    '2026-01-01T00:00:00Z',
  )

  test('keeps late events and repeats from bringing back what is gone', () => {
    expect(['sequence 1', 'sequence 2', 'sequence 3'].map((value) => isStale(gone, 'relation/7', at(value)))).toEqual([
      true,
      true,
      false,
    ])
  })

  test('is not left where there is nothing to order by', () => {
    expect(accept(emptyState(), 'relation/7', at(undefined), '2026-01-01T00:00:00Z').accepted).toEqual({})
  })

  test('goes when what is gone comes back', () => {
    expect(accept(gone, 'relation/7', at('sequence 3')).accepted).toEqual({
      'relation/7': { bySource: { '/a': 'sequence 3' } },
    })
  })

  test('of the application holds for all that is about it', () => {
    const removed = accept(emptyState(), 'application', at('sequence 2'), '2026-01-01T00:00:00Z')
    expect(isStale(removed, 'relation/7', at('sequence 1'))).toBe(true)
    expect(isStale(removed, 'config', at('sequence 3'))).toBe(false)
  })
})

test('the end of something is not stale when it is told again, as a change would be', () => {
  const gone = accept(emptyState(), 'relation/7', at('sequence 2'), '2026-01-01T00:00:00Z')
  expect(isOvertaken(gone, 'relation/7', at('sequence 2'))).toBe(false)
  expect(isOvertaken(gone, 'relation/7', at('sequence 1'))).toBe(true)
  expect(accept(gone, 'relation/7', at('sequence 2'), '2026-01-02T00:00:00Z')).toEqual(gone)
})

test.each([['constructor'], ['toString'], ['7']])('a source may be called %s', (source) => {
  const state = accept(emptyState(), 'config', at('sequence 2', source))
  expect(isStale(state, 'config', at('sequence 1', source))).toBe(true)
  expect(isStale(emptyState(), 'config', at('sequence 1', source))).toBe(false)
})

test('a sequence of unreasonable length is refused', () => {
  expect(() => positionOf({ source: '/a', extensions: { sequence: '1'.repeat(257) } })).toThrow(
    /at most 256 characters/,
  )
})

test('a sender with a new source for every event does not fill the memory', () => {
  const sources = Array.from({ length: 100 }, (_, index) => `/source/${index}`)
  const state = sources.reduce<State>(
    (before, source) => accept(before, 'config', at('sequence 1', source)),
    emptyState(),
  )
  expect(Object.keys(state.accepted.config?.bySource ?? {})).toEqual(sources.slice(-16))
})

test('the sequence goes before the time', () => {
  expect(positionOf({ source: '/a', time: '2026-01-01T00:00:00Z', extensions: { sequence: '1' } })).toEqual(
    at('sequence 1'),
  )
  expect(positionOf({ source: '/a', time: '2026-01-01T00:00:00Z', extensions: {} })).toEqual(
    at('time 2026-01-01T00:00:00Z'),
  )
  expect(positionOf({ source: '/a', extensions: {} })).toEqual(at(undefined))
})

test('whatever the order of arrival, the last by sequence is what remains', () => {
  const sequences = fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 20 })
  const keepsTheLast = fc.property(sequences, (arrivals) => {
    let state = emptyState()
    let kept = -1
    for (const sequence of arrivals) {
      if (isStale(state, 'config', at(`sequence ${sequence}`))) continue
      state = accept(state, 'config', at(`sequence ${sequence}`))
      kept = sequence
    }
    expect(kept).toBe(Math.max(...arrivals))
  })
  fc.assert(keepsTheLast)
})
