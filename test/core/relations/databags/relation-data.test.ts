import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { readValue } from '../../../../src/core/relations/databags/databag.ts'
import { decodePayload, publishable, readData } from '../../../../src/core/relations/databags/relation-data.ts'
import { pythonJson } from '../../../../src/platform/base/python-json.ts'
import { runs } from '../../../helpers/runs.ts'

const BOTH = [0, 1] as const
const CONTENT = { labels: '{"tier": "b\\u00e9"}', mesh_type: '"istio"' }

describe('what is published', () => {
  test('the old form stays, byte for byte, beside the document and the versions', () => {
    expect(publishable(CONTENT, BOTH)).toEqual({
      ...CONTENT,
      data: '{"labels": {"tier": "b\\u00e9"}, "mesh_type": "istio"}',
      _supported_versions: '["v0", "v1"]',
    })
  })

  test('the form that is given up goes', () => {
    expect(publishable(CONTENT, [0])).toEqual({ ...CONTENT, _supported_versions: '["v0"]' })
    expect(Object.keys(publishable(CONTENT, [1]))).toEqual(['data', '_supported_versions'])
  })

  test('a side that has nothing to say says which versions it speaks', () => {
    expect(publishable({}, [1, 0])).toEqual({ data: '{}', _supported_versions: '["v0", "v1"]' })
  })

  test('plain text stays text in the document: a port, a name that looks like something else', () => {
    const { data } = publishable({ 'service-port': '8080', 'service-name': 'true', a: 'null', b: 'db.shop' }, BOTH)
    expect(data).toBe('{"service-port": "8080", "service-name": "true", "a": "null", "b": "db.shop"}')
  })

  test('every value of it is JSON for a library that reads all keys', () => {
    for (const text of Object.values(publishable(CONTENT, BOTH))) expect(() => JSON.parse(text)).not.toThrow()
  })
})

describe('a document that cannot be read is reported, the flat keys beside it or not', () => {
  const remote = (data: unknown) => ({ ...CONTENT, _supported_versions: ['v0', 'v1'], data })
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`

  test.each([
    ['broken', '{"labels":', 'data: neither JSON nor YAML'],
    ['null', null, 'data: expected an object, got null'],
    ['a list', [], 'data: expected an object, got []'],
    ['text', 'labels', 'data: expected an object, got "labels"'],
    ['nesting without end', deep, 'data: expected an object, got a list'],
    ['nesting without end inside', `{"labels": ${deep}}`, 'data: expected at most 64 levels'],
  ])('%s', (_, data, problem) => {
    expect(decodePayload(remote(data), BOTH)).toEqual({ unreadable: expect.stringContaining(problem) })
  })

  test('it does not matter to a side that does not speak its version', () => {
    expect(decodePayload(remote('{"labels":'), [0])).toEqual({ data: remote('{"labels":'), version: 0 })
  })
})

describe('what is read', () => {
  test('a databag in the old form is the databag itself', () => {
    expect(decodePayload(CONTENT, BOTH)).toEqual({ data: CONTENT, version: 0 })
    const said = decodePayload(CONTENT, BOTH)
    expect('data' in said && said.data).toBe(CONTENT)
  })

  test('a document is flat keys, strings in JSON', () => {
    const document = { labels: { a: 'b' }, mesh_type: 'istio', worker_config: '{}', list: [1], number: 7 }
    expect(decodePayload({ _supported_versions: ['v1'], data: document }, BOTH)).toEqual({
      data: { labels: { a: 'b' }, mesh_type: '"istio"', worker_config: '"{}"', list: [1], number: 7 },
      version: 1,
    })
  })

  test('YAML, as serialized-data-interface writes it', () => {
    const remote = { _supported_versions: '- v1\n', data: "service-name: db.shop\nservice-port: '8080'\n" }
    expect(decodePayload(remote, BOTH)).toEqual({
      data: { 'service-name': '"db.shop"', 'service-port': '"8080"' },
      version: 1,
    })
  })

  test.each([undefined, ''])('no document yet (%j): what the flat keys say', (data) => {
    const remote = { ...CONTENT, _supported_versions: '["v1"]', data }
    expect(decodePayload(remote, BOTH)).toEqual({ data: remote, version: 1 })
  })

  test('keys that every object has', () => {
    const remote = { _supported_versions: ['v1'], data: '{"__proto__": {"x": 1}, "constructor": "y"}' }
    const said = decodePayload(remote, BOTH)
    expect('data' in said && Object.entries(said.data)).toEqual([
      ['__proto__', { x: 1 }],
      ['constructor', '"y"'],
    ])
  })
})

test('an offer of another version is told apart, and only where an interface has offers', () => {
  const offer = (version: unknown) => ({ labels: '{}', offer: JSON.stringify({ version }) })
  expect(readData('service_mesh', {}, offer(1))).toMatchObject({ data: offer(1) })
  expect(readData('service_mesh', {}, offer(2))).toEqual({ unreadable: 'offer: expected version 1, got 2' })
  expect(readData('cluster', {}, offer(2))).toMatchObject({ data: offer(2) })
  expect(readData('sql', {}, offer(2))).toEqual({ data: offer(2) })
})

describe('an older program writes into the databag of a newer one, and leaves what it does not know', () => {
  const before = publishable(CONTENT, BOTH)

  test.each([
    ['another value', { ...before, labels: '{}' }],
    ['another key', { ...before, server_cert: '"pem"' }],
    ['one key less', Object.fromEntries(Object.entries(before).filter(([key]) => key !== 'labels'))],
    ['a value that is no JSON any more', { ...before, labels: '{' }],
    ['nesting without end', { ...before, labels: `${'['.repeat(100_000)}${']'.repeat(100_000)}` }],
  ])('%s: the flat keys count', (_, remote) => {
    expect(decodePayload(remote, BOTH)).toEqual({ data: remote, version: 0 })
    expect(decodePayload(remote, [1])).toEqual({ incompatible: 'no version in common: v1 here, v0 there' })
  })

  test('the same in other words is the same', () => {
    const remote = { ...before, labels: '{"tier":"bé"}', mesh_type: 'istio', _other: 'x' }
    expect(decodePayload(remote, BOTH)).toMatchObject({ version: 1 })
  })

  test('a side that never said that it writes flat keys is taken at its word', () => {
    const remote = { labels: '{"old": "x"}', _supported_versions: ['v1'], data: { labels: {} } }
    expect(decodePayload(remote, BOTH)).toEqual({ data: { labels: {} }, version: 1 })
  })

  test('flat keys that were never written say nothing', () => {
    expect(decodePayload({ _supported_versions: ['v0', 'v1'], data: '{"a": 1}' }, BOTH)).toEqual({
      data: { a: 1 },
      version: 1,
    })
  })
})

const key = fc.string({ minLength: 1 }).filter((text) => text !== 'data' && !text.startsWith('_'))
const json = fc
  .jsonValue({ maxDepth: 3 })
  .filter((value) => typeof value === 'string' || (typeof value === 'object' && value !== null))
const plain = fc.constantFrom('db.shop', 'istio', '-', 'a: b', '{', '')

test('what is published is read as it was, in every version', () => {
  const versions = fc.constantFrom([0] as const, [1] as const, BOTH)
  const flat = fc.oneof(
    json.map(pythonJson),
    json.map((value) => JSON.stringify(value)),
    plain,
  )
  fc.assert(
    fc.property(fc.dictionary(key, flat), versions, versions, (content, there, here) => {
      const said = decodePayload(publishable(content, there), here)
      if (!there.some((version) => here.some((other) => other === version))) {
        expect(said).toEqual({ incompatible: expect.any(String) })
        return
      }
      const { data, version } = said as Extract<typeof said, { version: unknown }>
      expect(version).toBe(Math.max(...there.filter((one) => here.some((other) => other === one))))
      for (const name of Object.keys(content))
        expect(readValue(data, name, z.unknown())).toEqual(readValue(content, name, z.unknown()))
    }),
  )
})

const hostile = fc.oneof(
  fc.jsonValue(),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.string(),
  fc.constantFrom('["v0", "v1"]', '- v1', '{}', 'a: 1', undefined),
)

test('no databag throws, and a problem is a line', () => {
  const databag = fc.oneof(
    fc.dictionary(fc.string(), hostile),
    fc.record({ _supported_versions: hostile, data: hostile, labels: hostile }),
  )
  fc.assert(
    fc.property(databag, fc.constantFrom([0] as const, [1] as const, BOTH), (remote, local) => {
      const said = decodePayload(remote, local)
      if ('data' in said) expect(said.data).toBeTypeOf('object')
      else expect(Object.values(said)).toEqual([expect.stringMatching(/^.{1,400}$/s)])
    }),
    { numRuns: runs(2000) },
  )
})
