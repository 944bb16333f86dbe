import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crossModelDatabag, readCrossModelIdentity } from '../../../../src/core/relations/databags/cross-model.ts'

describe('what cannot be read names nobody', () => {
  test.each([
    ['broken JSON', '{"app_name": "web"'],
    ['null', null],
    ['a list', []],
    ['no model', { app_name: 'web' }],
    ['no application', { juju_model_name: 'clients' }],
    ['an empty name', { app_name: '', juju_model_name: 'clients' }],
    ['an empty model', { app_name: 'web', juju_model_name: '' }],
    ['a model that is no string', { app_name: 'web', juju_model_name: 7 }],
  ])('%s', (_, value) => {
    expect(readCrossModelIdentity({ cmr_data: value })).toEqual({ unreadable: expect.stringMatching(/^cmr_data: /) })
  })
})

test('nothing said yet', () => {
  expect(readCrossModelIdentity({ other: 'x' })).toEqual({ value: undefined })
})

test.each([
  ['JSON values', { app_name: 'web', juju_model_name: 'clients', extra: 1 }],
  ['a string of JSON, as in Juju', '{"app_name": "web", "juju_model_name": "clients"}'],
])('%s', (_, value) => {
  expect(readCrossModelIdentity({ cmr_data: value })).toEqual({ value: { namespace: 'clients', application: 'web' } })
})

test('what is written is the library’s, and read as it was', () => {
  expect(crossModelDatabag({ namespace: 'clients', application: 'wéb' })).toBe(
    '{"app_name": "w\\u00e9b", "juju_model_name": "clients"}',
  )
  const name = fc.string({ minLength: 1 })
  fc.assert(
    fc.property(fc.record({ namespace: name, application: name }), (identity) => {
      expect(readCrossModelIdentity({ cmr_data: crossModelDatabag(identity) })).toEqual({ value: identity })
    }),
  )
})
