import { describe, expect, test } from 'vitest'
import { type Event, type EventRequest, readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { binary, bytes, refusal } from './requests.ts'

type Refused = [what: string, request: EventRequest, expected: string]
type Taken = [what: string, request: EventRequest, expected: Partial<Event>]

const JSON_TYPE = { 'content-type': 'application/json' }

describe('modes the receiver does not take: 415 (HTTP binding 3)', () => {
  const got = (type: string): string =>
    `415 content-type: expected one event, in binary mode or application/cloudevents+json, got "${type}"`
  const types = [
    'application/cloudevents-batch+json',
    'application/cloudevents-batch',
    'Application/CloudEvents-Batch+JSON',
    'application/cloudevents+xml',
    'application/cloudevents+avro',
    'application/cloudevents',
    'APPLICATION/CLOUDEVENTS+AVRO',
  ]
  for (const type of types) {
    test(type, () => expect(refusal(binary({ 'content-type': type }, '[]'))).toBe(got(type)))
  }
})

describe('required attributes (CloudEvents 3.1)', () => {
  const rows: Refused[] = [
    ['no specversion', binary({ 'ce-specversion': undefined }), '400 specversion: expected "1.0", got nothing'],
    ['no id', binary({ 'ce-id': undefined }), '400 id: expected a non-empty string, got nothing'],
    ['no source', binary({ 'ce-source': undefined }), '400 source: expected a URI-reference, got nothing'],
    ['no type', binary({ 'ce-type': undefined }), '400 type: expected a non-empty string, got nothing'],
    ['no event at all', { headers: {}, body: bytes('{}') }, '400 specversion: expected "1.0", got nothing'],
    ['specversion 9.9', binary({ 'ce-specversion': '9.9' }), '400 specversion: expected "1.0", got "9.9"'],
    ['specversion 0.3', binary({ 'ce-specversion': '0.3' }), '400 specversion: expected "1.0", got "0.3"'],
    ['specversion 1', binary({ 'ce-specversion': '1' }), '400 specversion: expected "1.0", got "1"'],
    ['empty specversion', binary({ 'ce-specversion': '' }), '400 specversion: expected "1.0", got ""'],
    ['empty id', binary({ 'ce-id': '' }), '400 id: expected a non-empty string, got ""'],
    ['id of empty quotes', binary({ 'ce-id': '""' }), '400 id: expected a non-empty string, got ""'],
    ['empty source', binary({ 'ce-source': '' }), '400 source: expected a URI-reference, got ""'],
    ['empty type', binary({ 'ce-type': '' }), '400 type: expected a non-empty string, got ""'],
    ['source with a space', binary({ 'ce-source': '/a b' }), '400 source: expected a URI-reference, got "/a b"'],
    ['source with <', binary({ 'ce-source': '/<a>' }), '400 source: expected a URI-reference, got "/<a>"'],
    [
      'source beyond ASCII',
      binary({ 'ce-source': '/\u00c3\u00a9' }),
      '400 source: expected a URI-reference, got "/Ã©"',
    ],
  ]
  for (const [what, request, expected] of rows) test(what, () => expect(refusal(request)).toBe(expected))

  test('required attributes are read, and nothing else, from a request without more', () => {
    expect(readEvent(binary())).toEqual({ id: '1', source: '/shop/db', type: 'example.changed', extensions: {} })
  })

  const sources = ['#', 'urn:uuid:6e8bc430', 'mailto:a@example.com', 'https://[::1]:6443/x?y=(z)&a=%41b#c', '1-555']
  for (const source of sources) {
    test(`source ${source}`, () => {
      expect(readEvent(binary({ 'ce-source': source.replaceAll('%', '%25') })).source).toBe(source)
    })
  }
})

describe('optional attributes (CloudEvents 3.2)', () => {
  const time = (got: string): string => `400 time: expected an RFC 3339 time, got "${got}"`
  const uri = (got: string): string => `400 dataschema: expected an absolute URI, got "${got}"`
  const media = (got: string): string => `400 datacontenttype: expected a media type, got "${got}"`
  const rows: Refused[] = [
    ['empty subject', binary({ 'ce-subject': '' }), '400 subject: expected a non-empty string, got ""'],
    ['empty time', binary({ 'ce-time': '' }), time('')],
    ['time that is none', binary({ 'ce-time': 'yesterday' }), time('yesterday')],
    ['time on 30 February', binary({ 'ce-time': '2026-02-30T00:00:00Z' }), time('2026-02-30T00:00:00Z')],
    ['empty dataschema', binary({ 'ce-dataschema': '' }), uri('')],
    ['relative dataschema', binary({ 'ce-dataschema': '/schemas/a' }), uri('/schemas/a')],
    ['dataschema with a space', binary({ 'ce-dataschema': 'urn:a b' }), uri('urn:a b')],
    ['empty Content-Type', binary({ 'content-type': '' }), media('')],
    ['Content-Type without subtype', binary({ 'content-type': 'json' }), media('json')],
    ['two joined Content-Types', binary({ 'content-type': 'a/b, c/d' }), media('a/b, c/d')],
    [
      'ce-datacontenttype beside Content-Type',
      binary({ 'ce-datacontenttype': 'text/plain', ...JSON_TYPE }, '1'),
      '400 ce-datacontenttype: expected the Content-Type header instead, got "text/plain"',
    ],
    [
      'ce-datacontenttype in other case',
      binary({ 'Ce-DataContentType': 'text/plain' }),
      '400 ce-datacontenttype: expected the Content-Type header instead, got "text/plain"',
    ],
  ]
  for (const [what, request, expected] of rows) test(what, () => expect(refusal(request)).toBe(expected))

  const taken: Taken[] = [
    ['subject', binary({ 'ce-subject': 'shop/db' }), { subject: 'shop/db' }],
    ['dataschema', binary({ 'ce-dataschema': 'urn:schema:1' }), { dataschema: 'urn:schema:1' }],
    [
      'time with nanoseconds and offset, as sent',
      binary({ 'ce-time': '2026-01-01T00:00:00.123456789+02:00' }),
      { time: '2026-01-01T00:00:00.123456789+02:00' },
    ],
    [
      'datacontenttype with its parameters, as sent',
      binary({ 'content-type': 'application/json; Charset="UTF-8"' }, '1'),
      { datacontenttype: 'application/json; Charset="UTF-8"' },
    ],
  ]
  for (const [what, request, expected] of taken) test(what, () => expect(readEvent(request)).toMatchObject(expected))
})
