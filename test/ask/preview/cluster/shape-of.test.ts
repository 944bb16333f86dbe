import { expect, test } from 'vitest'
import { shapeOf } from '../../../../src/ask/preview/cluster/shape-of.ts'
import type { FieldSet } from '../../../../src/platform/kubernetes/managed-fields/field-set.ts'

test.each<[string, FieldSet[], object, object]>([
  ['replaced as a whole where all who own it own it so', [{}], { app: 'web' }, { type: 'map', atomic: true }],
  ['told apart where one owns a part of it', [{}, { 'f:app': {} }], { app: 'web' }, { type: 'struct' }],
  ['told apart where nobody owns it', [], { app: 'web' }, { type: 'struct' }],
  ['a set where one owns values of it', [{ 'v:"a"': {} }], ['a', 'b'], { type: 'list', set: true }],
  [
    'a list by the keys of an owner',
    [{ 'k:{"port":80,"protocol":"TCP"}': {} }],
    [{ port: 80 }],
    { keys: { port: null, protocol: 'TCP' } },
  ],
  ['a list by names where nobody owns it', [], [{ name: 'a' }, { name: 'b' }], { keys: { name: null } }],
  ['a list as a whole where names are not all there', [], [{ name: 'a' }, {}], { type: 'list' }],
])('a value is %s', (_, owned, value, shape) => {
  expect(shapeOf(owned, [value as never])).toMatchObject(shape)
})
