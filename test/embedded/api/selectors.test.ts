import { expect, test } from 'vitest'
import { labelSelector } from '../../../src/embedded/api/label-selector.ts'
import { fieldSelector } from '../../../src/embedded/api/select.ts'
import { matches } from '../../../src/embedded/kinds/selector.ts'

const labels = { app: 'web', tier: 'front' }

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
  ['in in (a)', false],
  ['example.com/in,app', false],
  ['constructor', false],
  ['!constructor', true],
  ['constructor!=a', true],
])('%j selects it: %j', (selector, selected) => {
  expect(labelSelector(selector)(labels)).toBe(selected)
})

test.each(['a===b', 'a b', 'a,', ',a', 'a=b c', 'a in b', 'a/b/c', 'a=@', 'a in (@)', '!a=b', '!'])(
  '%j is refused',
  (selector) => {
    expect(() => labelSelector(selector)).toThrow('unable to parse requirement')
  },
)

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
