import { describe, expect, test } from 'vitest'
import { MeshPolicy } from '../../../src/core/policies/models.ts'
import { issuesOf } from '../../features/service-mesh/issues.ts'
import { charmLibrary } from '../../helpers/recorded.ts'

const PARTIES = { source_namespace: 'clients', source_app_name: 'web', target_namespace: 'shop' }
const APP = { ...PARTIES, target_type: 'app', target_app_name: 'db' }
const UNIT = { ...PARTIES, target_type: 'unit', target_app_name: 'db' }
const PODS = { ...PARTIES, target_type: 'unit', target_selector_labels: { tier: 'back' } }

describe('a target that a policy cannot have', () => {
  const NEITHER =
    'Bad policy configuration. Neither target_app_name nor target_service specified for MeshPolicy with target_type PolicyTargetType.app'
  const SELECTOR =
    'Bad policy configuration. MeshPolicy with target_type PolicyTargetType.app does not support target_selector_labels.'
  const BOTH =
    'Bad policy configuration. MeshPolicy with target_type PolicyTargetType.unit cannot specify both target_app_name and target_selector_labels.'
  const SERVICE =
    'Bad policy configuration. MeshPolicy with target_type PolicyTargetType.unit does not support target_service.'
  const NOTHING =
    'Bad policy configuration. Neither target_app_name nor target_selector_labels specified for MeshPolicy with target_type PolicyTargetType.unit: it would open the whole namespace.'

  test.each([
    ['app, none', PARTIES, NEITHER],
    ['app, empty names', { ...PARTIES, target_app_name: '', target_service: '' }, NEITHER],
    ['app, only a selector', { ...PODS, target_type: 'app' }, NEITHER],
    ['app with a selector', { ...APP, target_selector_labels: { a: 'b' } }, SELECTOR],
    ['unit by name and selector', { ...UNIT, target_selector_labels: { a: 'b' } }, BOTH],
    ['unit with a Service', { ...UNIT, target_service: 'db' }, SERVICE],
    ['unit, only a Service', { ...PARTIES, target_type: 'unit', target_service: 'db' }, SERVICE],
    ['unit, none', { ...PARTIES, target_type: 'unit' }, NOTHING],
    ['unit, an empty selector', { ...PODS, target_selector_labels: {} }, NOTHING],
    ['unit, an empty name', { ...UNIT, target_app_name: '' }, NOTHING],
  ])('%s', (_, policy, message) => {
    expect(issuesOf(MeshPolicy, policy)).toEqual([{ path: [], message }])
  })
})

describe('a field that is wrong', () => {
  test.each([
    ['no source', { ...APP, source_app_name: null }, ['source_app_name'], /^expected an application: a string$/],
    ['a type of another case', { ...APP, target_type: 'App' }, ['target_type'], /^expected app or unit$/],
    ['endpoints that are no list', { ...APP, endpoints: {} }, ['endpoints'], /^expected endpoints: a list$/],
    ['an endpoint that is no object', { ...APP, endpoints: ['80'] }, ['endpoints', 0], /^expected an endpoint/],
    ['a selector that is a list', { ...PODS, target_selector_labels: ['a'] }, ['target_selector_labels'], /an object/],
    ['a label', { ...PODS, target_selector_labels: { 'a b': 'x' } }, ['target_selector_labels', 'a b'], /name of the/],
    ['its value', { ...PODS, target_selector_labels: { a: 5 } }, ['target_selector_labels', 'a'], /string, not 5/],
    [
      'a key that copies lose',
      { ...PODS, target_selector_labels: JSON.parse('{"a": "b", "__proto__": "x"}') },
      ['target_selector_labels', '__proto__'],
      /not a label/,
    ],
    ['hosts of a unit', { ...UNIT, endpoints: [{ hosts: ['a'] }] }, ['endpoints', 0, 'hosts'], /no hosts with .* unit/],
    [
      'methods of a unit',
      { ...UNIT, endpoints: [{ ports: [80] }, { ports: [81], methods: ['GET'] }] },
      ['endpoints', 1, 'methods'],
      /no methods with .* unit/,
    ],
    ['paths of a unit', { ...PODS, endpoints: [{ paths: ['/'] }] }, ['endpoints', 0, 'paths'], /no paths with .* unit/],
  ])('%s', (_, policy, path, message) => {
    expect(issuesOf(MeshPolicy, policy)).toEqual([{ path, message: expect.stringMatching(message) }])
  })

  test('a policy that is no object', () => {
    expect(issuesOf(MeshPolicy, 'policy')).toEqual([{ path: [], message: 'expected a policy: an object' }])
  })
})

test.each([
  ['absent', {}],
  ['null', { target_type: null, target_selector_labels: null, target_service: null, endpoints: null }],
  ['empty', { target_selector_labels: {}, target_service: '' }],
  ['unknown fields', { target_port: 80, __proto_: null }],
])('defaults: %s', (_, fields) => {
  expect(MeshPolicy.parse({ ...PARTIES, target_app_name: 'db', ...fields })).toEqual({
    source_namespace: 'clients',
    source_app_name: 'web',
    target_namespace: 'shop',
    target_app_name: 'db',
    target_selector_labels: null,
    target_service: null,
    target_type: 'app',
    endpoints: [],
  })
})

test('an empty name beside the target is as absent', () => {
  const policy = MeshPolicy.parse({ ...PARTIES, target_app_name: '', target_service: 'api' })
  expect(policy).toMatchObject({ target_app_name: null, target_service: 'api' })
})

test('an empty list is not null', () => {
  const endpoints = [{ hosts: [], ports: [80], paths: null, weight: 1 }]
  expect(MeshPolicy.parse({ ...APP, endpoints }).endpoints).toEqual([
    { hosts: [], ports: [80], methods: null, paths: null },
  ])
})

test('a unit policy may have empty lists, a selector, and no endpoint', () => {
  const endpoints = [{ hosts: [], ports: [80], methods: [], paths: [] }]
  expect(MeshPolicy.parse({ ...UNIT, endpoints }).endpoints).toEqual(endpoints)
  expect(MeshPolicy.parse(PODS)).toMatchObject({ target_selector_labels: { tier: 'back' }, endpoints: [] })
})

test('the policies of the charm library are read as they are', () => {
  const refused: string[] = []
  for (const { name, policy } of charmLibrary().policies) {
    const { success, data } = MeshPolicy.safeParse(policy)
    if (success) expect(data, name).toEqual(policy)
    else refused.push(name)
  }
  expect(refused).toEqual(['an empty endpoint', 'units by no labels'])
})
