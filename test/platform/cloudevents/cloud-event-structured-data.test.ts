import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EventRequest, InvalidEvent, readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { runs } from '../../helpers/runs.ts'
import { bytes, refusal, structured } from './requests.ts'

type Refused = [what: string, request: EventRequest, expected: string | RegExp]

const base64 = (text: string): string => Buffer.from(text).toString('base64')

describe('data (JSON format 3.1.2)', () => {
  const rows: Refused[] = [
    [
      'both members',
      structured({ data: 1, data_base64: 'AA==' }),
      '400 data: expected either data or data_base64, got both',
    ],
    [
      'both, data being null',
      structured({ data: null, data_base64: '' }),
      '400 data: expected either data or data_base64, got both',
    ],
    ['base64 that is none', structured({ data_base64: 'a*b=' }), '400 data_base64: expected padded base64, got "a*b="'],
    ['base64 without padding', structured({ data_base64: 'AA' }), '400 data_base64: expected padded base64, got "AA"'],
    ['base64 as a number', structured({ data_base64: 5 }), '400 data_base64: expected padded base64, got 5'],
    [
      'an object of a type that is not JSON',
      structured({ datacontenttype: 'text/plain', data: {} }),
      '400 data: expected a string, being "text/plain", got an object',
    ],
    [
      'null of a type that is not JSON',
      structured({ datacontenttype: 'application/xml', data: null }),
      '400 data: expected a string, being "application/xml", got null',
    ],
    [
      'base64 JSON that is none',
      structured({ datacontenttype: 'application/json', data_base64: base64('{]') }),
      /^400 data: expected JSON, .*position 1/,
    ],
    [
      'base64 JSON in Latin-1',
      structured({ datacontenttype: 'application/json;charset=latin1', data_base64: base64('1') }),
      '415 datacontenttype: expected charset utf-8, got "latin1"',
    ],
  ]
  for (const [what, request, expected] of rows)
    test(`refuses ${what}`, () => expect(refusal(request)).toMatch(expected))

  const taken: [what: string, members: object, datacontenttype: string | undefined, data: unknown][] = [
    ['none', {}, undefined, undefined],
    ['none of a JSON type', { datacontenttype: 'application/json' }, 'application/json', undefined],
    ['an object without type is JSON', { data: { a: 1 } }, 'application/json', { a: 1 }],
    ['a string without type is JSON', { data: 'a' }, 'application/json', 'a'],
    ['null is kept', { data: null }, 'application/json', null],
    ['0 is kept', { data: 0 }, 'application/json', 0],
    ['false is kept', { data: false }, 'application/json', false],
    [
      'a JSON string is not parsed again',
      { datacontenttype: 'application/json', data: '{"a":1}' },
      'application/json',
      '{"a":1}',
    ],
    ['any +json type', { datacontenttype: 'Application/X+JSON; v=1', data: [1] }, 'Application/X+JSON; v=1', [1]],
    ['XML is a string', { datacontenttype: 'application/xml', data: '<a/>' }, 'application/xml', '<a/>'],
    ['an empty text', { datacontenttype: 'text/plain', data: '' }, 'text/plain', ''],
    ['base64 without type', { data_base64: '/wA=' }, undefined, Uint8Array.of(255, 0)],
    ['base64 of a binary type', { datacontenttype: 'a/b', data_base64: '/wA=' }, 'a/b', Uint8Array.of(255, 0)],
    [
      'base64 of JSON',
      { datacontenttype: 'application/json', data_base64: base64('{"a":1}') },
      'application/json',
      { a: 1 },
    ],
    ['base64 of text', { datacontenttype: 'text/plain', data_base64: base64('é') }, 'text/plain', 'é'],
    ['data beside an unset data_base64', { data: 1, data_base64: null }, 'application/json', 1],
  ]
  for (const [what, members, datacontenttype, data] of taken) {
    test(what, () => {
      const event = readEvent(structured(members))
      expect(event.data).toStrictEqual(data)
      expect(event.datacontenttype).toBe(datacontenttype)
    })
  }
})

test('whatever JSON comes is an event, or refused in fewer than 512 bytes', () => {
  const name = fc.oneof(
    fc.constantFrom('id', 'time', 'data', 'data_base64', 'datacontenttype', 'ext'),
    fc.string({ size: 'large' }),
  )
  const members = fc.dictionary(name, fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary', size: 'large' })))
  fc.assert(
    fc.property(members, (given) => {
      try {
        expect(readEvent(structured(given)).id).not.toBe('')
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidEvent)
        expect(bytes((error as InvalidEvent).message).length).toBeLessThan(512)
      }
    }),
    { numRuns: runs(500) },
  )
})
