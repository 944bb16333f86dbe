import { describe, expect, test } from 'vitest'
import { Policy } from '../../../src/core/policies/models.ts'
import { issuesOf } from '../../features/service-mesh/issues.ts'

describe('policies of the config', () => {
  test.each([
    ['no type', { relation: 'db', endpoints: [] }, ['type'], /Invalid/],
    ['another type', { type: 'pod', relation: 'db' }, ['type'], /Invalid/],
    ['no endpoints', { type: 'app', relation: 'db' }, ['endpoints'], /expected array/],
    ['no relation', { type: 'unit' }, ['relation'], /expected string/],
    ['an empty relation', { type: 'unit', relation: '' }, ['relation'], /expected string to have >=1/],
    ['an empty Service', { type: 'app', relation: 'db', endpoints: [], service: '' }, ['service'], />=1/],
    ['a key that is not known', { type: 'app', relation: 'db', endpoints: [], services: 'a' }, [], /"services"/],
    ['paths of a unit', { type: 'unit', relation: 'db', paths: ['/'] }, [], /"paths"/],
    [
      'an endpoint with a key that is not known',
      { type: 'app', relation: 'db', endpoints: [{ ports: [80], port: 81 }] },
      ['endpoints', 0],
      /"port"/,
    ],
    ['a port', { type: 'unit', relation: 'db', ports: [80, 0] }, ['ports', 1], /a port/],
  ])('policies of the config are refused: %s', (_, policy, path, message) => {
    expect(issuesOf(Policy, policy)).toEqual([{ path, message: expect.stringMatching(message) }])
  })

  test.each([
    { type: 'app', relation: 'db', endpoints: [] },
    { type: 'app', relation: 'db', endpoints: [{ hosts: [], ports: [80] }], service: null },
    { type: 'unit', relation: 'db' },
    { type: 'unit', relation: 'db', ports: [] },
  ])('policies of the config are accepted as they are: %j', (policy) => {
    expect(Policy.parse(policy)).toEqual(policy)
  })
})
