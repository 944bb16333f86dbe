import { describe, expect, test } from 'vitest'
import { readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { binary, bytes, refusal } from './requests.ts'

const latin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

describe('attribute names (CloudEvents 3, HTTP binding 3.1.3.1)', () => {
  const name = (got: string): string => `400 attribute name: expected a-z and 0-9 only, and not "data", got "${got}"`
  for (const wrong of ['data', 'data_base64', 'my-name', 'my_name', '__proto__', 'é', '']) {
    test(`refuses ce-${wrong}`, () => expect(refusal(binary({ [`ce-${wrong}`]: 'x' }))).toBe(name(wrong)))
  }

  test('header names are case-insensitive', () => {
    const headers = { 'CE-SPECVERSION': '1.0', 'Ce-Id': '7', 'cE-source': '/s', 'Ce-Type': 't', 'Ce-Kind': 'Pod' }
    const event = readEvent({ headers: { ...headers, 'Content-Type': 'text/plain' }, body: bytes('hi') })
    expect(event).toMatchObject({ id: '7', extensions: { kind: 'Pod' }, datacontenttype: 'text/plain', data: 'hi' })
  })

  test('headers that are not ce-* are ignored', () => {
    const others = { 'kn-namespace': 'shop', prefer: 'reply', traceparent: '00-1-2-01', ce: 'x', 'x-ce-a': 'y' }
    expect(readEvent(binary(others))).toEqual(readEvent(binary()))
  })

  test('names of methods are extensions like others, and nothing is inherited', () => {
    const headers = {
      'ce-validate': 'a',
      'ce-constructor': 'b',
      'ce-emit': 'c',
      'ce-tostring': 'd',
      'ce-hasownproperty': 'e',
    }
    const { extensions } = readEvent(binary(headers))
    expect(Object.entries(extensions)).toEqual(Object.entries(headers).map(([key, value]) => [key.slice(3), value]))
    expect([extensions.toString, readEvent(binary()).extensions.constructor]).toEqual([undefined, undefined])
  })

  test('an extension may be empty, unknown and longer than 20 characters', () => {
    const extensions = { namespace: '', knativearrivaltime: '1', averyveryverylongextensionname: '2', 5: '3' }
    const headers = Object.fromEntries(Object.entries(extensions).map(([key, value]) => [`ce-${key}`, value]))
    expect(readEvent(binary(headers)).extensions).toEqual(extensions)
  })
})

describe('header values (HTTP binding 3.1.3.2)', () => {
  const control = (got: string): string =>
    `400 subject: expected neither control characters nor noncharacters, got ${JSON.stringify(got)}`
  const rows: [what: string, value: string, expected: string][] = [
    ['an overlong encoding', '%C0%A0', '400 subject: expected UTF-8, got 2 bytes that are not valid UTF-8'],
    ['a lone byte, encoded', 'caf%E9', '400 subject: expected UTF-8, got 4 bytes that are not valid UTF-8'],
    ['a lone byte, raw', 'caf\xe9', '400 subject: expected UTF-8, got 4 bytes that are not valid UTF-8'],
    ['an encoded surrogate', '%ED%A0%80', '400 subject: expected UTF-8, got 3 bytes that are not valid UTF-8'],
    ['a character no header carries', '€', '400 subject: expected a header value of single bytes, got "€"'],
    ['a tab', 'a\tb', control('a\tb')],
    ['an encoded line feed', 'a%0Ab', control('a\nb')],
    ['an encoded NUL', '%00', control('\0')],
    ['an encoded DEL', '%7F', control('\x7f')],
    ['a C1 control', '%C2%85', control('\x85')],
    ['a noncharacter', '%EF%BF%BF', control('\uffff')],
  ]
  for (const [what, value, expected] of rows) {
    test(`refuses ${what}`, () => expect(refusal(binary({ 'ce-subject': value }))).toBe(expected))
  }

  const taken: [what: string, value: string, expected: string][] = [
    ['percent-encoding', 'Euro%20%E2%82%AC%20%F0%9F%98%80', 'Euro € 😀'],
    ['lower-case hex', '%e2%82%ac', '€'],
    ['needless encoding', '%61%2Db', 'a-b'],
    ['one round of decoding only', '%2541', '%41'],
    ['a stray %', '100%', '100%'],
    ['a % before one hex digit', '5%a', '5%a'],
    ['a % before other letters', '%zz%20%', '%zz %'],
    ['raw UTF-8, as sdk-go sends it', latin1('Euro € 😀'), 'Euro € 😀'],
    ['raw and encoded bytes of one character', '\xe2%82\xac', '€'],
    ['a byte order mark, kept', '%EF%BB%BFa', '\ufeffa'],
    ['double quotes around it', '"shop db"', 'shop db'],
    ['backslashes inside quotes', '"a \\"b\\" \\\\ c"', 'a "b" \\ c'],
    ['percent-encoding inside quotes', '"a%20b"', 'a b'],
    ['encoded quotes, which are not undone', '%22a%22', '"a"'],
    ['an opening quote alone', '"a', '"a'],
    ['a quote escaped at the end', '"a\\"', '"a\\"'],
    ['quotes inside, as sdk-go sends JSON', '{"a": "b"}', '{"a": "b"}'],
    ['two quoted strings', '"a" "b"', '"a" "b"'],
    ['backslashes outside quotes', 'a\\b', 'a\\b'],
    ['joined duplicates', 'a, b', 'a, b'],
  ]
  for (const [what, value, expected] of taken) {
    test(`reads ${what}`, () => expect(readEvent(binary({ 'ce-subject': value })).subject).toBe(expected))
  }

  test('Content-Type is not percent-decoded', () => {
    expect(readEvent(binary({ 'content-type': 'a/b; c=%41' })).datacontenttype).toBe('a/b; c=%41')
  })
})

test.each([
  ['a URI that is itself percent-encoded, by a sender that does not encode it again', '/a%20b', '/a%20b'],
  ['the same, by a sender that does', '/a%2520b', '/a%20b'],
  ['one that needs no encoding', '/a%2Fb', '/a/b'],
])('source: %s', (_, sent, source) => {
  const headers = { 'ce-id': '1', 'ce-source': sent, 'ce-specversion': '1.0', 'ce-type': 't' }
  expect(readEvent({ headers, body: new Uint8Array() }).source).toBe(source)
})
