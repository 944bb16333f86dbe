import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidEvent, readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { runs } from '../../helpers/runs.ts'
import { binary, bytes, refusal } from './requests.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

describe('body (HTTP binding 3.1.2)', () => {
  const refused: [what: string, type: string, body: string | Uint8Array, expected: string][] = [
    [
      'JSON in Latin-1',
      'application/json; charset=ISO-8859-1',
      '1',
      '415 datacontenttype: expected charset utf-8, got "iso-8859-1"',
    ],
    [
      'JSON in UTF-16',
      'application/json;charset="utf-16"',
      '1',
      '415 datacontenttype: expected charset utf-8, got "utf-16"',
    ],
    [
      'JSON in ASCII',
      'application/json; CHARSET=us-ascii',
      '1',
      '415 datacontenttype: expected charset utf-8, got "us-ascii"',
    ],
    [
      'text/json in ASCII',
      'text/json; charset=us-ascii',
      '1',
      '415 datacontenttype: expected charset utf-8, got "us-ascii"',
    ],
    ['text in Latin-1', 'text/plain; charset=latin1', 'a', '415 datacontenttype: expected charset utf-8, got "latin1"'],
    [
      'JSON that is not UTF-8',
      'application/json',
      Uint8Array.of(34, 0xe9, 34),
      '400 data: expected UTF-8, got 3 bytes that are not valid UTF-8',
    ],
    [
      'text that is not UTF-8',
      'text/plain',
      Uint8Array.of(0xe9),
      '400 data: expected UTF-8, got 1 bytes that are not valid UTF-8',
    ],
  ]
  for (const [what, type, body, expected] of refused) {
    test(`refuses ${what}`, () => expect(refusal(binary({ 'content-type': type }, body))).toBe(expected))
  }

  const garbage: [body: string, where: RegExp][] = [
    ['{"a":1 "b":2}', /^400 data: expected JSON, got invalid JSON: .*position 7/],
    ['garbage', /^400 data: expected JSON, .*token 'g'$/],
    ['[1,\n2,}\n]', /^400 data: expected JSON, .*'}'/],
    ['1 2', /^400 data: expected JSON, .*position 2/],
    ['{"a":', /^400 data: expected JSON, .*end of JSON/],
    [' ', /^400 data: expected JSON, .*end of JSON/],
    ['\ufeff', /^400 data: expected JSON, .*end of JSON/],
    ['\0', /^400 data: expected JSON, [^\0]*$/],
  ]
  for (const [body, where] of garbage) {
    test(`says where JSON breaks: ${JSON.stringify(body)}`, () =>
      expect(refusal(binary(JSON_TYPE, body))).toMatch(where))
  }

  const taken: [type: string | undefined, body: string, expected: unknown][] = [
    ['application/json', '{"a":[1]}', { a: [1] }],
    ['application/json', '1', 1],
    ['application/json', '0', 0],
    ['application/json', 'true', true],
    ['application/json', 'false', false],
    ['application/json', 'null', null],
    ['application/json', '"1"', '1'],
    ['application/json', '""', ''],
    ['application/json', ' \n{"a":1} ', { a: 1 }],
    ['application/json', '\ufeff{"a":1}', { a: 1 }],
    ['application/json', '{"a":1,"a":2}', { a: 2 }],
    ['application/json', '', undefined],
    ['application/json; charset=UTF-8', '[]', []],
    ['application/json;v="; charset=x";charset=utf8', '[]', []],
    ['Application/JSON', '[]', []],
    ['application/x+json', '[]', []],
    ['application/merge-patch+json; q=1', '[]', []],
    ['text/json', '[]', []],
    ['text/plain', '[]', '[]'],
    ['text/plain; charset=us-ascii', 'Hello', 'Hello'],
    ['Text/Plain', '\ufeffa 😀', '\ufeffa 😀'],
    ['text/plain', '', undefined],
    ['application/xml', '<a/>', bytes('<a/>')],
    ['application/jsonlines', '1', bytes('1')],
    ['application/octet-stream; charset=latin1', '1', bytes('1')],
    [undefined, '{"a":1}', bytes('{"a":1}')],
    [undefined, '', undefined],
  ]
  for (const [type, body, expected] of taken) {
    test(`reads ${type} ${JSON.stringify(body)}`, () => {
      expect(readEvent(binary({ 'content-type': type }, body)).data).toStrictEqual(expected)
    })
  }

  test('absent data and null differ', () => {
    expect(['data' in readEvent(binary(JSON_TYPE)), 'data' in readEvent(binary(JSON_TYPE, 'null'))]).toEqual([
      false,
      true,
    ])
  })

  test('keys of the prototype stay keys of the document', () => {
    const { data } = readEvent(binary(JSON_TYPE, '{"__proto__":{"polluted":1},"constructor":{"prototype":2}}'))
    expect(Object.keys(data ?? {})).toEqual(['__proto__', 'constructor'])
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('body (HTTP binding 3.1.2) takes a megabyte', () => {
    const long = 'x'.repeat(1 << 20)
    expect(readEvent(binary(JSON_TYPE, JSON.stringify(long))).data).toBe(long)
  })
})

test('whatever comes is an event, or refused in fewer than 512 bytes', () => {
  const names = ['content-type', 'ce-id', 'ce-source', 'ce-time', 'ce-datacontenttype', 'ce-data', 'ce-x']
  const types = ['application/json', 'text/plain', 'application/cloudevents+json', 'application/cloudevents-batch']
  const value = fc.oneof(fc.string({ unit: 'binary', size: 'large' }), fc.constantFrom(...types, '%FF', '"'))
  const name = fc.oneof(
    fc.constantFrom(...names),
    fc.string({ size: 'large' }).map((text) => `ce-${text}`),
  )
  const body = fc.oneof(fc.string({ unit: 'binary', size: 'large' }), fc.json(), fc.uint8Array())
  fc.assert(
    fc.property(fc.dictionary(name, value), body, (headers, content) => {
      try {
        expect(readEvent(binary(headers, content)).source).not.toBe('')
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidEvent)
        expect(bytes((error as InvalidEvent).message).length).toBeLessThan(512)
      }
    }),
    { numRuns: runs(500) },
  )
})

test('a message is cut between characters', () => {
  const { message } = new InvalidEvent('€'.repeat(100), '€'.repeat(300), '€')
  expect(message).toMatch(/^€{48}…: expected €+$/)
  expect(bytes(message).length).toBeGreaterThan(490)
  expect(bytes(message).length).toBeLessThan(512)
})
