import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareTimes, isTimestamp } from '../../../src/platform/base/timestamp.ts'

describe('RFC 3339', () => {
  const refused: [why: string, text: string][] = [
    ['nothing', ''],
    ['a word', 'yesterday'],
    ['a date alone', '2026-11-20'],
    ['no offset', '2026-11-20T20:38:00'],
    ['a space for the T', '2026-11-20 20:38:00Z'],
    ['no seconds', '2026-11-20T20:38Z'],
    ['month 0', '2026-00-20T20:38:00Z'],
    ['month 13', '2026-13-20T20:38:00Z'],
    ['day 0', '2026-11-00T20:38:00Z'],
    ['30 February', '2026-02-30T20:38:00Z'],
    ['29 February of a common year', '2026-02-29T20:38:00Z'],
    ['29 February 1900', '1900-02-29T20:38:00Z'],
    ['31 November', '2026-11-31T20:38:00Z'],
    ['hour 24', '2026-11-20T24:00:00Z'],
    ['minute 60', '2026-11-20T20:60:00Z'],
    ['second 61', '2016-12-31T23:59:61Z'],
    ['a leap second at noon', '2016-12-31T12:00:60Z'],
    ['a leap second of local midnight', '2016-12-31T23:59:60+01:00'],
    ['offset hour 24', '2026-11-20T20:38:00+24:00'],
    ['offset minute 60', '2026-11-20T20:38:00+01:60'],
    ['an offset without colon', '2026-11-20T20:38:00+0100'],
    ['a dot without digits', '2026-11-20T20:38:00.Z'],
    ['a comma', '2026-11-20T20:38:00,5Z'],
    ['a year of five digits', '12026-11-20T20:38:00Z'],
    ['a line break after it', '2026-11-20T20:38:00Z\n'],
    ['another alphabet’s digits', '٢٠٢٦-11-20T20:38:00Z'],
  ]
  for (const [why, text] of refused)
    test(`refuses ${why}: ${JSON.stringify(text)}`, () => expect(isTimestamp(text)).toBe(false))

  const taken: [what: string, text: string][] = [
    ['whole seconds', '2026-11-20T20:38:00Z'],
    ['nanoseconds', '2026-11-20T20:38:00.646754467Z'],
    ['more digits than nanoseconds', '2026-11-20T20:38:00.1234567890123Z'],
    ['an offset', '2026-11-20T20:38:00-08:00'],
    ['an unknown offset', '2026-11-20T20:38:00-00:00'],
    ['lower case', '2026-11-20t20:38:00z'],
    ['29 February of a leap year', '2024-02-29T00:00:00Z'],
    ['29 February 2000', '2000-02-29T00:00:00Z'],
    ['the year 0', '0000-01-01T00:00:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['a leap second before the epoch', '1969-06-30T23:59:60Z'],
    ['a leap second seen from California', '1990-12-31T15:59:60-08:00'],
  ]
  for (const [what, text] of taken) test(`takes ${what}: ${text}`, () => expect(isTimestamp(text)).toBe(true))
})

describe('compareTimes', () => {
  test('compareTimes refuses what is no time, on either side, and says what came', () => {
    const message = 'Expected an RFC 3339 time, got "soon"'
    expect(() => compareTimes('soon', '2026-11-20T20:38:00Z')).toThrow(new TypeError(message))
    expect(() => compareTimes('2026-11-20T20:38:00Z', 'soon')).toThrow(new TypeError(message))
  })

  test('compareTimes takes a fraction of many zeros in linear time', () => {
    const zeros = '0'.repeat(200_000)
    expect(compareTimes(`2026-11-20T20:38:00.${zeros}1Z`, `2026-11-20T20:38:00.${zeros}Z`)).toBe(1)
  }, 5_000)

  const cases: [what: string, a: string, expected: number, b: string][] = [
    ['one nanosecond', '2026-11-20T20:38:00.646754467Z', -1, '2026-11-20T20:38:00.646754468Z'],
    ['a digit after the nanoseconds', '2026-11-20T20:38:00.646754467Z', -1, '2026-11-20T20:38:00.6467544671Z'],
    ['no fraction and .0', '2026-11-20T20:38:00Z', 0, '2026-11-20T20:38:00.0Z'],
    ['trailing zeros', '2026-11-20T20:38:00.5Z', 0, '2026-11-20T20:38:00.500000Z'],
    ['zeros of the seconds stay', '2026-11-20T20:38:20Z', 1, '2026-11-20T20:38:02Z'],
    ['a leading zero of the fraction', '2026-11-20T20:38:00.05Z', -1, '2026-11-20T20:38:00.4Z'],
    ['a longer fraction that is smaller', '2026-11-20T20:38:00.1999Z', -1, '2026-11-20T20:38:00.2Z'],
    ['the same instant in two zones', '2026-11-20T20:38:00Z', 0, '2026-11-20T12:38:00-08:00'],
    ['half an hour of offset', '2026-11-20T20:38:00Z', 0, '2026-11-21T02:08:00+05:30'],
    ['half an hour of negative offset', '2026-11-20T20:38:00Z', 0, '2026-11-20T17:08:00-03:30'],
    ['a later clock at an earlier instant', '2026-11-21T01:00:00+05:00', -1, '2026-11-20T20:30:00Z'],
    ['upper and lower case', '2026-11-20T20:38:00Z', 0, '2026-11-20t20:38:00z'],
    ['before the leap second', '2016-12-31T23:59:59.999Z', -1, '2016-12-31T23:59:60Z'],
    ['after the leap second', '2016-12-31T23:59:60.999Z', -1, '2017-01-01T00:00:00Z'],
    ['before the epoch', '1969-12-31T23:59:59Z', -1, '1970-01-01T00:00:00Z'],
    ['the year 99, which is not 1999', '0099-01-01T00:00:00Z', -1, '1999-01-01T00:00:00Z'],
  ]
  for (const [what, a, expected, b] of cases) {
    test(`${what}: ${a} and ${b}`, () => {
      expect(compareTimes(a, b)).toBe(expected)
      expect(compareTimes(b, a)).toBe(expected === 0 ? 0 : -expected)
    })
  }

  // Seconds and nanoseconds within a small window, so that equal and adjacent instants do come up.
  const instant = fc.record({
    second: fc.integer({ min: -90_000, max: 90_000 }),
    nano: fc.constantFrom(0, 1, 10, 500_000_000),
  })
  const offset = fc.integer({ min: -1439, max: 1439 })
  const text = ({ second, nano }: { second: number; nano: number }, minutes: number): string => {
    const local = new Date((second + minutes * 60) * 1000).toISOString().slice(0, 19)
    const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((n) =>
      `${n}`.padStart(2, '0'),
    )
    return `${local}.${`${nano}`.padStart(9, '0')}${minutes < 0 ? '-' : '+'}${hours}:${rest}`
  }

  test('compareTimes orders any two as their seconds and nanoseconds, whatever the offsets', () => {
    fc.assert(
      fc.property(instant, instant, offset, offset, (a, b, here, there) => {
        const expected = Math.sign(a.second - b.second) || Math.sign(a.nano - b.nano)
        expect(compareTimes(text(a, here), text(b, there))).toBe(expected)
      }),
    )
  })

  test('compareTimes agrees with Date on milliseconds over four digits of years', () => {
    const date = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9998-12-31T00:00:00Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(date, date, (a, b) => {
        expect(compareTimes(a.toISOString(), b.toISOString())).toBe(Math.sign(a.getTime() - b.getTime()))
      }),
    )
  })
})
