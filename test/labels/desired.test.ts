import { describe, expect, test } from 'vitest'
import { desiredLabels } from '../../src/labels/desired.ts'
import { type EffectiveState, emptyState, type Relation } from '../../src/state.ts'

const relation = (id: number, data: Relation['remote']['data'], changes: Partial<Relation> = {}): Relation => ({
  id,
  endpoint: 'service-mesh',
  interface: 'service_mesh',
  role: 'requires',
  remote: { application: 'beacon', data },
  ...changes,
})

const stateWith = (relations: readonly Relation[], config?: EffectiveState['config']): EffectiveState => ({
  ...emptyState(),
  relations: Object.fromEntries(relations.map((one) => [one.id, one])),
  ...(config && { config }),
})

const desired = (relations: readonly Relation[], config?: EffectiveState['config']) =>
  desiredLabels({ namespace: 'shop', application: 'web' }, stateWith(relations, config))

describe('what cannot be read keeps what is held', () => {
  test.each([
    [
      'labels that are not an object',
      { labels: 'ambient', mesh_type: 'istio' },
      /relation 7 \(service-mesh\): labels:/,
    ],
    ['labels that are broken JSON', { labels: '{"a":', mesh_type: 'istio' }, /relation 7 \(service-mesh\): labels:/],
    ['a list of labels', { labels: [], mesh_type: 'istio' }, /labels:/],
    ['null', { labels: null, mesh_type: 'istio' }, /labels:/],
    ['a mesh that is not known', { labels: {}, mesh_type: 'linkerd' }, /mesh_type:/],
  ])('%s', (_, data, message) => {
    const { labels, unknown, messages } = desired([relation(7, data)], { labels: { team: 'red' } })
    expect({ labels, unknown }).toEqual({ labels: { team: 'red' }, unknown: 'all' })
    expect(messages).toEqual([expect.stringMatching(message)])
  })

  test('a bad label is named, and the good ones are wanted (L10)', () => {
    const { labels, unknown, messages } = desired([relation(7, { labels: { good: 'x', 'bad key': 'x', number: 5 } })])
    expect({ labels, unknown }).toEqual({ labels: { good: 'x' }, unknown: ['bad key', 'number'] })
    expect(messages).toEqual([
      expect.stringContaining('relation 7 (service-mesh): label bad key is not applied'),
      expect.stringContaining('label number is not applied: the value must be a string, not 5'),
    ])
  })
})

test.each([
  ['JSON values', { labels: { a: 'x' }, mesh_type: 'istio' }],
  ['strings of JSON, as in Juju', { labels: '{"a": "x"}', mesh_type: '"istio"' }],
])('a databag of %s', (_, data) => {
  expect(desired([relation(7, data)])).toEqual({ labels: { a: 'x' }, required: true, unknown: [], messages: [] })
})

test('a relation that says nothing yet wants nothing', () => {
  expect(desired([relation(7, {})])).toEqual({ labels: {}, required: false, unknown: [], messages: [] })
})

test('the union of config, mesh and cluster', () => {
  const cluster = relation(9, { worker_labels: { c: '3' } }, { endpoint: 'cluster', interface: 'cluster' })
  expect(desired([cluster, relation(7, { labels: { b: '2' } })], { labels: { a: '1' } }).labels).toEqual({
    a: '1',
    b: '2',
    c: '3',
  })
})

test('of two values for a key the config goes first, then the lower relation id, and the other is named', () => {
  const relations = [relation(8, { labels: { a: '8', b: '8' } }), relation(7, { labels: { b: '7' } })]
  const { labels, messages } = desired(relations, { labels: { a: 'config' } })
  expect(labels).toEqual({ a: 'config', b: '7' })
  expect(messages).toHaveLength(2)
})

test.each([
  ['the provider of service_mesh', { role: 'provides' }],
  ['a relation of another interface', { interface: 'ingress' }],
] as const)('%s wants no labels of its own', (_, changes) => {
  expect(desired([relation(7, { labels: { a: 'x' } }, changes)]).labels).toEqual({})
})

test('keys that every object has are ordinary keys', () => {
  expect(desired([relation(7, { labels: { constructor: 'x', toString: 'y' } })]).labels).toEqual({
    constructor: 'x',
    toString: 'y',
  })
})
