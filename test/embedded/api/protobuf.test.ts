import { expect, test } from 'vitest'
import { parseProtobuf } from '../../../src/embedded/api/protobuf.ts'
import { CONFIG_MAPS, createClient } from '../client.ts'

const bytes = (field: number, value: string): string => String.fromCharCode(field * 8 + 2, value.length) + value
const message = (kind: string, raw: string): string =>
  `k8s\0${bytes(1, bytes(1, 'v1') + bytes(2, kind))}${bytes(2, raw)}`
const entry = (key: string, value: string): string => bytes(1, key) + bytes(2, value)

test.each([
  [
    'a ConfigMap',
    message(
      'ConfigMap',
      bytes(1, bytes(1, 'a') + bytes(3, '') + bytes(11, entry('x', 'y'))) +
        bytes(2, entry('k', '')) +
        bytes(2, entry('l', 'v')),
    ),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', labels: { x: 'y' } },
      data: { k: '', l: 'v' },
    },
  ],
  [
    'a Namespace',
    message('Namespace', bytes(1, bytes(1, 'n'))),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } },
  ],
])('reads %s', (_, text, want) => {
  expect(parseProtobuf(text)).toEqual(want)
})

test.each([
  ['a kind that is not read', message('Pod', ''), 'this server reads no protobuf of Pod, send JSON'],
  ['something else', '{}', 'provided data does not appear to be a protobuf message'],
  ['a message that ends early', 'k8s\0\x0a', 'unexpected EOF'],
])('does not read %s', (_, text, problem) => {
  expect(() => parseProtobuf(text)).toThrow(problem)
})

test('an object in protobuf is created', () => {
  const client = createClient()
  const text = message('ConfigMap', bytes(1, bytes(1, 'a')) + bytes(2, entry('k', 'v')))
  const { status, object } = client.call('POST', CONFIG_MAPS, text, 'application/vnd.kubernetes.protobuf')
  expect([status, object.data]).toEqual([201, { k: 'v' }])
})
