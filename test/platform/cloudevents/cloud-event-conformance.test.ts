import { describe, expect, test } from 'vitest'
import { readEvent, writeEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { binary, bytes, refusal, structured } from './requests.ts'

const attributes = { id: 'c-1', source: 'urn:example:sender', type: 'example.kind', time: '2026-04-05T03:56:24Z' }
const headers = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value]))

describe('an attribute that is not a String: a trailing line feed in an extension', () => {
  const message = /^400 othervalue: expected neither control characters nor noncharacters, /
  test('binary', () => expect(refusal(binary({ 'ce-othervalue': '%7B%22n%22:5%7D%0A' }))).toMatch(message))
  test('structured', () => expect(refusal(structured({ othervalue: '{"n": 5}\n' }))).toMatch(message))
})

describe('both modes, with and without charset', () => {
  for (const type of ['application/json', 'application/json; charset=utf-8']) {
    test(`binary, ${type}`, () => {
      const event = readEvent(binary({ ...headers, 'content-type': type }, '{"hello":"world"}'))
      expect(event).toEqual({ ...attributes, datacontenttype: type, data: { hello: 'world' }, extensions: {} })
    })
  }
  for (const type of ['application/cloudevents+json', 'application/cloudevents+json; charset=utf-8']) {
    test(`structured, ${type}`, () => {
      const members = { ...attributes, datacontenttype: 'application/json', data: { hello: 'world' } }
      expect(readEvent(structured(members, type))).toEqual({ ...members, extensions: {} })
    })
  }
})

describe('kinds of data, in both modes and back', () => {
  const xml = '<greeting to="world"/>'
  const kinds: [kind: string, type: string, body: string, data: unknown, member: unknown][] = [
    ['ASCII text', 'text/plain; charset=us-ascii', 'hello', 'hello', 'hello'],
    ['text with an emoji', 'text/plain; charset=utf-8', 'hello 👋', 'hello 👋', 'hello 👋'],
    ['a JSON string', 'application/json', '"hello"', 'hello', 'hello'],
    ['a JSON object', 'application/json', '{"hello":["world"]}', { hello: ['world'] }, { hello: ['world'] }],
    ['a JSON array', 'application/json', '["hello",1,null]', ['hello', 1, null], ['hello', 1, null]],
    ['XML', 'application/xml', xml, bytes(xml), xml],
  ]
  for (const [kind, type, body, data, member] of kinds) {
    test(kind, () => {
      const event = readEvent(binary({ ...headers, 'content-type': type }, body))
      expect(event).toEqual({ ...attributes, datacontenttype: type, data, extensions: {} })
      expect(writeEvent(event)).toEqual({
        headers: { ...headers, 'ce-specversion': '1.0', 'content-type': type },
        body,
      })
      expect(readEvent(structured({ ...attributes, datacontenttype: type, data: member })).data).toEqual(member)
    })
  }
})

test('an extension that holds JSON is the same in both modes', () => {
  const othervalue = '{"n": 5}'
  const fromJson = readEvent(structured({ ...attributes, othervalue }))
  const { headers: sent } = writeEvent(fromJson)
  expect(sent['ce-othervalue']).toBe('{%22n%22:%205}')
  expect(readEvent(binary(sent))).toEqual(fromJson)
  expect(readEvent(binary({ ...sent, 'ce-othervalue': othervalue }))).toEqual(fromJson)
})
