import { expect, test } from 'vitest'
import { fieldSelector, labelSelector } from '../../../src/embedded/api/select.ts'

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

test.each(['a===b', 'a b', 'a,', ',a', 'a=b c', 'a in b', 'a/b/c', 'a=@', 'a in (@)', '!'])(
  '%j is refused',
  (selector) => {
    expect(() => labelSelector(selector)).toThrow('unable to parse requirement')
  },
)

test('a field selector names a field by its path, with the value that it has or has not', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, status: { phase: 'Running' } }
  expect(fieldSelector('metadata.name=a,status.phase==Running,spec.nodeName!=b')(pod)).toBe(true)
  expect(fieldSelector('metadata.name=a,status.phase!=Running')(pod)).toBe(false)
  expect(() => fieldSelector('metadata.name')).toThrow(
    "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
  )
})
