import { HTTP } from 'cloudevents'
import { describe, expect, test } from 'vitest'
import { type EventRequest, readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { binary, json, refusal, structured } from './requests.ts'

/** The SDK's reading, validated: one of its properties, or its error. */
const bySdk = (request: EventRequest, property: string): unknown => {
  try {
    const event = HTTP.toEvent({ headers: { ...request.headers }, body: Buffer.from(request.body).toString('utf8') })
    return Object.entries(event).find(([name]) => name === property)?.[1]
  } catch (error) {
    return error instanceof Error ? `throws ${error.message}` : error
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/
const NOW = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

// The left reading is why readEvent does its own; a row that fails after an update of the SDK is one guard less to keep.
describe('what the SDK takes and should not', () => {
  const rows: [input: string, request: EventRequest, property: string, sdk: unknown, here: string | RegExp][] = [
    [
      'no id, structured',
      structured({ id: undefined }),
      'id',
      expect.stringMatching(UUID),
      '400 id: expected a non-empty string, got nothing',
    ],
    [
      'no ce-specversion',
      binary({ 'ce-specversion': undefined }),
      'specversion',
      '1.0',
      '400 specversion: expected "1.0", got nothing',
    ],
    ['no ce-type', binary({ 'ce-type': undefined }), 'id', '1', '400 type: expected a non-empty string, got nothing'],
    [
      'no ce-source',
      binary({ 'ce-source': undefined }),
      'id',
      '1',
      '400 source: expected a URI-reference, got nothing',
    ],
    [
      'specversion 9.9',
      binary({ 'ce-specversion': '9.9' }),
      'specversion',
      '9.9',
      '400 specversion: expected "1.0", got "9.9"',
    ],
    [
      'an invalid time',
      binary({ 'ce-time': 'soon' }),
      'time',
      expect.stringMatching(NOW),
      '400 time: expected an RFC 3339 time, got "soon"',
    ],
    ['garbage of a JSON type', binary(JSON_TYPE, 'garbage'), 'data', 'garbage', /^400 data: expected JSON/],
  ]
  for (const [input, request, property, sdk, here] of rows) {
    test(input, () => {
      expect(bySdk(request, property)).toEqual(sdk)
      expect(refusal(request)).toMatch(here)
    })
  }
})

describe('what the SDK reads otherwise, or not at all', () => {
  const charset = (type: string): EventRequest => structured({ data: 7 }, type)
  const ofType = (type: string): EventRequest => binary({ 'content-type': type }, '{"a":1}')
  const rows: [input: string, request: EventRequest, property: 'data' | 'subject', sdk: unknown, here: unknown][] = [
    [
      'structured; charset=UTF-8',
      charset('application/cloudevents+json; charset=UTF-8'),
      'data',
      expect.stringMatching(/^throws invalid content type/),
      7,
    ],
    [
      'structured;charset=utf-8',
      charset('application/cloudevents+json;charset=utf-8'),
      'data',
      expect.stringMatching(/^throws invalid content type/),
      7,
    ],
    [
      'structured in other case',
      charset('Application/CloudEvents+JSON'),
      'data',
      expect.stringMatching(/^throws no cloud event detected/),
      7,
    ],
    ['binary JSON; charset=UTF-8', ofType('application/json; charset=UTF-8'), 'data', '{"a":1}', { a: 1 }],
    ['binary +json', ofType('application/x+json'), 'data', '{"a":1}', { a: 1 }],
    ['structured data 0', structured({ data: 0 }), 'data', undefined, 0],
    ['structured data false', structured({ data: false }), 'data', undefined, false],
    ['structured data null', structured({ data: null }), 'data', undefined, null],
    ['a percent-encoded header', binary({ 'ce-subject': 'a%20b' }), 'subject', 'a%20b', 'a b'],
    ['JSON body 1', binary(JSON_TYPE, '1'), 'data', '1', 1],
    ['JSON body true', binary(JSON_TYPE, 'true'), 'data', 'true', true],
    ['JSON body after a space', binary(JSON_TYPE, ' {"a":1}'), 'data', expect.stringMatching(/^throws /), { a: 1 }],
  ]
  for (const [input, request, property, sdk, here] of rows) {
    test(input, () => {
      expect(bySdk(request, property)).toEqual(sdk)
      expect(readEvent(request)[property]).toEqual(here)
    })
  }

  test('ce-validate, which replaces a method', () => {
    const request = binary({ 'ce-validate': 'x' })
    expect(bySdk(request, 'validate')).toBe('x')
    expect(readEvent(request).extensions).toEqual({ validate: 'x' })
  })

  test('a batch with one bad element is refused here whatever is in it', () => {
    const batch = json(JSON.stringify([{}]), 'application/cloudevents-batch+json')
    expect(refusal(batch)).toMatch(/^415 content-type: expected one event/)
  })
})
