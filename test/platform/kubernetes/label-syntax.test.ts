import { describe, expect, test } from 'vitest'
import { labelProblem } from '../../../src/platform/kubernetes/label-syntax.ts'

describe('a label that Kubernetes refuses', () => {
  test.each([
    ['an empty key', '', 'x', /name of the key/],
    ['an empty name', 'example.com/', 'x', /name of the key/],
    ['an empty prefix', '/name', 'x', /prefix/],
    ['two slashes', 'a/b/c', 'x', /more than one slash/],
    ['a space in the key', 'bad key', 'x', /name of the key/],
    ['a key that begins with a hyphen', '-a', 'x', /name of the key/],
    ['a name of 64 characters', 'a'.repeat(64), 'x', /64 characters/],
    ['a prefix of 254 characters', `${'a'.repeat(254)}/a`, 'x', /prefix/],
    ['an upper-case prefix', 'Example.com/a', 'x', /prefix/],
    ['a prefix with an empty label', 'a..b/c', 'x', /prefix/],
    ['a value of 64 characters', 'a', 'x'.repeat(64), /64 characters/],
    ['a value that ends in a dot', 'a', 'x.', /the value must be/],
    ['a value with a slash', 'a', 'x/y', /the value must be/],
    ['a value that is not ASCII', 'a', 'ü', /the value must be/],
    ['a value with a line break', 'a', 'x\n', /the value must be/],
    ['a number', 'a', 5, /must be a string, not 5/],
    ['null', 'a', null, /must be a string, not null/],
    ['__proto__', '__proto__', 'x', /name of the key/],
  ])('%s', (_, key, value, problem) => {
    expect(labelProblem(key, value)).toMatch(problem)
  })
})

test.each([
  ['a', ''],
  ['a', 'x'],
  ['constructor', 'x'],
  ['a'.repeat(63), 'x'.repeat(63)],
  [`${'a'.repeat(253)}/b`, 'x'],
  ['istio.io/dataplane-mode', 'ambient'],
  ['charms.canonical.com/istio.io.waypoint.managed-by', 'm.a'],
  ['0_A.-z', '0_A.-z'],
])('a good label: %s=%s', (key, value) => {
  expect(labelProblem(key, value)).toBeUndefined()
})
