import { describe, expect, test } from 'vitest'
import { type EventRequest, readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { json, REQUIRED, refusal, structured } from './requests.ts'

type Refused = [what: string, request: EventRequest, expected: string | RegExp]

describe('the envelope (JSON format 3)', () => {
  const rows: Refused[] = [
    ['an empty body', json(''), /^400 body: expected JSON, .*end of JSON/],
    ['garbage', json('{"id":1 x}'), /^400 body: expected JSON, .*position 8/],
    ['not UTF-8', json(Uint8Array.of(0xff)), '400 body: expected UTF-8, got 1 bytes that are not valid UTF-8'],
    ['an array', json('[]'), '400 body: expected a JSON object, got an array'],
    ['null', json('null'), '400 body: expected a JSON object, got null'],
    ['a string', json('"a"'), '400 body: expected a JSON object, got a string'],
    ['a number', json('5'), '400 body: expected a JSON object, got 5'],
    ['an empty object', json('{}'), '400 specversion: expected "1.0", got nothing'],
    [
      'Latin-1',
      structured({}, 'application/cloudevents+json; charset=latin1'),
      '415 content-type: expected charset utf-8, got "latin1"',
    ],
    [
      'a list after the media type',
      structured({}, 'application/cloudevents+json, a/b'),
      '415 content-type: expected one event, in binary mode or application/cloudevents+json, got "application/cloudevents+json, a/b"',
    ],
  ]
  for (const [what, request, expected] of rows) {
    test(`refuses ${what}`, () => expect(refusal(request)).toMatch(expected))
  }

  const types = [
    'application/cloudevents+json',
    'application/cloudevents+json; charset=UTF-8',
    'application/cloudevents+json;charset=utf-8',
    'Application/CloudEvents+JSON',
    'application/cloudevents+json; charset="utf-8"; x=y',
  ]
  for (const type of types) {
    test(`reads ${type}`, () => {
      expect(readEvent(structured({}, type))).toEqual({
        id: '1',
        source: '/shop/db',
        type: 'example.changed',
        extensions: {},
      })
    })
  }

  test('an envelope is read after white space and a byte order mark, the last of duplicate keys', () => {
    const { specversion, ...others } = REQUIRED
    const text = JSON.stringify({ specversion, ...others }).replace('{', '{"id":"0",')
    expect(readEvent(json(`\ufeff \n${text}`)).id).toBe('1')
  })

  test('ce-* headers beside it do not count', () => {
    const { headers, body } = structured({ subject: 'inside' })
    const beside = { ...headers, 'ce-subject': 'outside', 'ce-x_y': '%FF', 'ce-extra': '1' }
    expect(readEvent({ headers: beside, body })).toMatchObject({ subject: 'inside', extensions: {} })
  })
})

describe('attributes (JSON format 2.2)', () => {
  const name = (got: string): string => `400 attribute name: expected a-z and 0-9 only, and not "data", got "${got}"`
  const value = (got: string): string => `400 ext: expected a string, a boolean or a 32-bit integer, got ${got}`
  const rows: Refused[] = [
    ['a missing id', structured({ id: undefined }), '400 id: expected a non-empty string, got nothing'],
    ['null for a required one', structured({ type: null }), '400 type: expected a non-empty string, got nothing'],
    ['an empty id', structured({ id: '' }), '400 id: expected a non-empty string, got ""'],
    ['a number as id', structured({ id: 5 }), '400 id: expected a string, got 5'],
    ['a number as specversion', structured({ specversion: 1 }), '400 specversion: expected a string, got 1'],
    ['specversion 9.9', structured({ specversion: '9.9' }), '400 specversion: expected "1.0", got "9.9"'],
    ['an object as subject', structured({ subject: {} }), '400 subject: expected a string, got an object'],
    ['a boolean as time', structured({ time: true }), '400 time: expected a string, got true'],
    ['an invalid time', structured({ time: 'now' }), '400 time: expected an RFC 3339 time, got "now"'],
    ['an empty subject', structured({ subject: '' }), '400 subject: expected a non-empty string, got ""'],
    [
      'an empty datacontenttype',
      structured({ datacontenttype: '' }),
      '400 datacontenttype: expected a media type, got ""',
    ],
    ['an empty dataschema', structured({ dataschema: '' }), '400 dataschema: expected an absolute URI, got ""'],
    ['an object as extension', structured({ ext: { a: 1 } }), value('an object')],
    ['an object without usable methods', structured({ ext: { toString: 1, valueOf: 1 } }), value('an object')],
    ['an array as extension', structured({ ext: [5] }), value('an array')],
    ['a fraction as extension', structured({ ext: 1.5 }), value('1.5')],
    ['2^31 as extension', structured({ ext: 2 ** 31 }), value('2147483648')],
    [
      'a control character',
      structured({ ext: 'a\nb' }),
      '400 ext: expected neither control characters nor noncharacters, got "a\\nb"',
    ],
    [
      'half a surrogate pair',
      structured({ ext: '\ud83d' }),
      '400 ext: expected neither control characters nor noncharacters, got "\\ud83d"',
    ],
    ['an upper-case name', structured({ Ext: 'a' }), name('Ext')],
    ['an illegal name that is null', structured({ ext_1: null }), name('ext_1')],
    ['__proto__', json('{"__proto__":{"id":"1"}}'), name('__proto__')],
    ['toString', structured({ toString: 'a' }), name('toString')],
  ]
  for (const [what, request, expected] of rows) test(`refuses ${what}`, () => expect(refusal(request)).toBe(expected))

  const extensions: [what: string, given: unknown, expected: string][] = [
    ['a string', 'a b€', 'a b€'],
    ['an empty string', '', ''],
    ['true', true, 'true'],
    ['false', false, 'false'],
    ['0', 0, '0'],
    ['-2^31', -(2 ** 31), '-2147483648'],
    ['2^31-1', 2 ** 31 - 1, '2147483647'],
    ['a string that looks encoded', '"%41"', '"%41"'],
  ]
  for (const [what, given, expected] of extensions) {
    test(`canonical form of ${what}`, () => {
      expect(readEvent(structured({ ext: given, validate: given })).extensions).toEqual({
        ext: expected,
        validate: expected,
      })
    })
  }

  test('null is absent', () => {
    const event = readEvent(
      structured({ subject: null, time: null, datacontenttype: null, dataschema: null, ext: null }),
    )
    expect(event).toEqual(readEvent(structured()))
  })

  test('a source that is percent-encoded stays so', () => {
    expect(readEvent(structured({ source: '/a%20b' })).source).toBe('/a%20b')
  })
})
