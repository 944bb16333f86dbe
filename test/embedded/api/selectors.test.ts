import { expect, test } from 'vitest'
import { labelSelector } from '../../../src/embedded/api/label-selector.ts'
import { fieldSelector } from '../../../src/embedded/api/select.ts'
import { matches } from '../../../src/embedded/validate/selector-object.ts'

const labels = { app: 'web', tier: 'front', n: '5' }

test.each([
  ['', true],
  ['app', true],
  ['!app', false],
  ['!other', true],
  ['app=web', true],
  ['app==web', true],
  ['app = web , tier=front', true],
  ['app!=web', false],
  ['other!=web', true],
  ['app in (api,web)', true],
  ['app in (api)', false],
  ['other in (api)', false],
  ['app notin (api)', true],
  ['other notin (api)', true],
  ['app=', false],
  ['other in ()', false],
  ['n>4', true],
  ['n<5', false],
  ['in in (a)', false],
  ['example.com/in,app', false],
  ['constructor', false],
  ['!constructor', true],
  ['constructor!=a', true],
])('%j selects it: %j', (selector, selected) => {
  expect(labelSelector(selector)(labels)).toBe(selected)
})

test.each([
  ['a===b', "unable to parse requirement: found '=', expected: identifier"],
  ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ['a,', "found '', expected: identifier after ','"],
  [',a', "found ',', expected: !, identifier, or 'end of string'"],
  ['a=b c', "found 'c', expected: ',' or 'end of string'"],
  ['a in b', "unable to parse requirement: found 'b' expected: '('"],
  ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
  ['a/b/c', /^unable to parse requirement: <nil>: Invalid value: "a\/b\/c": a qualified name must consist/],
  ['a=@', /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "@": a valid label must be/],
])('%j is refused', (selector, message) => {
  expect(() => labelSelector(selector)).toThrow(message)
})

test('field selectors', () => {
  expect(fieldSelector('metadata.name=a,status.phase!=Running')).toEqual([
    { path: 'metadata.name', value: 'a', wanted: true },
    { path: 'status.phase', value: 'Running', wanted: false },
  ])
  expect(() => fieldSelector('metadata.name')).toThrow(
    "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
  )
})

test.each([
  [{}, true],
  [{ matchLabels: { app: 'web' } }, true],
  [{ matchLabels: { app: 'api' } }, false],
  [{ matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }, true],
  [{ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }, false],
  [{ matchExpressions: [{ key: 'other', operator: 'NotIn', values: ['web'] }] }, true],
  [{ matchExpressions: [{ key: 'app', operator: 'Exists' }] }, true],
  [{ matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, false],
  [{ matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, false],
  [{ matchExpressions: [{ key: 'constructor', operator: 'NotIn', values: ['a'] }] }, true],
])('the selector object %j matches: %j', (selector, matched) => {
  expect(matches(selector, labels)).toBe(matched)
})
