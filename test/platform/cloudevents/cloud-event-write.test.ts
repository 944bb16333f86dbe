import { describe, expect, test } from 'vitest'
import { type Event, readEvent, writeEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { bytes } from './requests.ts'

const event = (more: Partial<Event> = {}): Event => ({ id: '1', source: '/s', type: 't', extensions: {}, ...more })

const reread = (given: Event): Event => {
  const { headers, body } = writeEvent(given)
  return readEvent({ headers, body: bytes(body) })
}

describe('writeEvent refuses, as a defect of the caller and not of a request', () => {
  const latin1 = 'text/plain; charset=latin1'
  const rows: [what: string, given: Event, message: string][] = [
    ['an empty id, for which the SDK invents one', event({ id: '' }), 'id: expected a non-empty string, got ""'],
    ['a source that is none', event({ source: 'a b' }), 'source: expected a URI-reference, got "a b"'],
    [
      'an invalid time, for which the SDK takes now',
      event({ time: 'soon' }),
      'time: expected an RFC 3339 time, got "soon"',
    ],
    [
      'a line feed',
      event({ subject: 'a\n' }),
      'subject: expected neither control characters nor noncharacters, got "a\\n"',
    ],
    [
      'an illegal extension name',
      event({ extensions: { a_b: '' } }),
      'attribute name: expected a-z and 0-9 only, and not "data", got "a_b"',
    ],
    [
      'data as an extension',
      event({ extensions: { data: '' } }),
      'attribute name: expected a-z and 0-9 only, and not "data", got "data"',
    ],
    [
      'an extension that hides an attribute',
      event({ extensions: { id: '2' } }),
      'id: expected no extension of this name, got "2"',
    ],
    [
      'bytes that are not text',
      event({ data: Uint8Array.of(255) }),
      'data: expected UTF-8, got 1 bytes that are not valid UTF-8',
    ],
    [
      'an object as text',
      event({ datacontenttype: 'text/plain', data: {} }),
      'data: expected bytes or well-formed text, got an object',
    ],
    [
      'a value that JSON does not have',
      event({ data: Symbol('x') }),
      'data: expected bytes or well-formed text, got Symbol(x)',
    ],
    [
      'half a surrogate pair as text',
      event({ datacontenttype: 'a/b', data: '\ud83d' }),
      'data: expected bytes or well-formed text, got "\\ud83d"',
    ],
    [
      'a charset it does not write',
      event({ datacontenttype: latin1, data: 'é' }),
      'datacontenttype: expected charset utf-8, got "latin1"',
    ],
  ]
  for (const [what, given, message] of rows) {
    test(what, () => expect(() => writeEvent(given)).toThrow(new TypeError(`Cannot write this event: ${message}`)))
  }
})

describe('writeEvent', () => {
  test('writeEvent writes no header but those of the event', () => {
    const { headers, body } = writeEvent(event())
    expect(headers).toEqual({ 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/s', 'ce-type': 't' })
    expect(body).toBe('')
  })

  test('writeEvent writes every attribute, the time to its last digit', () => {
    const all = {
      subject: 'shop/db',
      time: '2026-01-01T00:00:00.123456789+02:00',
      dataschema: 'urn:s',
      datacontenttype: 'a/b; c=d',
    }
    const { headers } = writeEvent(event({ ...all, extensions: { sequence: '007', namespace: '' } }))
    expect(headers).toEqual({
      'ce-specversion': '1.0',
      'ce-id': '1',
      'ce-source': '/s',
      'ce-type': 't',
      'ce-subject': 'shop/db',
      'ce-time': '2026-01-01T00:00:00.123456789+02:00',
      'ce-dataschema': 'urn:s',
      'ce-sequence': '007',
      'ce-namespace': '',
      'content-type': 'a/b; c=d',
    })
  })

  const encoded: [what: string, subject: string, expected: string][] = [
    ['space, quote and percent', 'a "b" 100%', 'a%20%22b%22%20100%25'],
    ['two and three bytes', 'é€', '%C3%A9%E2%82%AC'],
    ['a surrogate pair as one character', '😀', '%F0%9F%98%80'],
    ['nothing from ! to ~', "!#$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~", "!#$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~"],
  ]
  for (const [what, subject, expected] of encoded) {
    test(`percent-encodes ${what}`, () => expect(writeEvent(event({ subject })).headers['ce-subject']).toBe(expected))
  }

  const bodies: [what: string, more: Partial<Event>, body: string, contentType: string | undefined][] = [
    ['an object', { datacontenttype: 'application/json', data: { a: 1 } }, '{"a":1}', 'application/json'],
    ['a JSON string, quoted', { datacontenttype: 'application/x+json', data: 'a' }, '"a"', 'application/x+json'],
    ['0', { datacontenttype: 'application/json', data: 0 }, '0', 'application/json'],
    ['false', { datacontenttype: 'application/json', data: false }, 'false', 'application/json'],
    ['null', { datacontenttype: 'application/json', data: null }, 'null', 'application/json'],
    ['an empty JSON string', { datacontenttype: 'application/json', data: '' }, '""', 'application/json'],
    ['a value without type, as JSON', { data: 'a' }, '"a"', 'application/json'],
    ['text', { datacontenttype: 'text/plain', data: '{"a"' }, '{"a"', 'text/plain'],
    ['bytes without type', { data: bytes('é') }, 'é', undefined],
    ['bytes of a JSON document', { datacontenttype: 'application/json', data: bytes('{}') }, '{}', 'application/json'],
    ['no data of a JSON type', { datacontenttype: 'application/json' }, '', 'application/json'],
  ]
  for (const [what, more, body, contentType] of bodies) {
    test(`body: ${what}`, () => {
      const written = writeEvent(event(more))
      expect([written.body, written.headers['content-type']]).toEqual([body, contentType])
    })
  }

  const names = [
    'validate',
    'constructor',
    'emit',
    'tojson',
    'tostring',
    'clonewith',
    'schemaurl',
    'datacontentencoding',
    'extensions',
  ]
  for (const name of names) {
    test(`an extension named ${name}`, () =>
      expect(reread(event({ extensions: { [name]: 'x y' } })).extensions).toEqual({ [name]: 'x y' }))
  }

  test('a leap second, which Date does not know', () => {
    expect(writeEvent(event({ time: '2016-12-31T23:59:60Z' })).headers['ce-time']).toBe('2016-12-31T23:59:60Z')
  })
})
