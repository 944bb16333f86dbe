import { describe, expect, test } from 'vitest'
import type { Relation } from '../../../src/core/state/relation.ts'
import { type EffectiveState, emptyState } from '../../../src/core/state/state.ts'
import { desiredLabels } from '../../../src/features/service-mesh/desired-labels.ts'
import { meshLabels } from '../../../src/mesh/istio/names.ts'
import { TOLD } from '../../helpers/relations.ts'

const relation = (id: number, data: Relation['remote']['data'], changes: Partial<Relation> = {}): Relation => ({
  id,
  endpoint: 'service-mesh',
  interface: 'service_mesh',
  ...{ role: 'requires', ...TOLD },
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
    const { labels, unknown, refused } = desired([relation(7, data)], { labels: { team: 'red' } })
    expect({ labels, unknown }).toEqual({ labels: { team: 'red' }, unknown: 'all' })
    expect(refused).toEqual([expect.stringMatching(message)])
  })

  test('a bad label is named, and the good ones are wanted', () => {
    const { labels, unknown, refused } = desired([
      relation(7, { labels: { 'istio.io/use-waypoint': 'x', 'bad key': 'x', 'istio.io/use-waypoint-namespace': 5 } }),
    ])
    expect({ labels, unknown }).toEqual({
      labels: { 'istio.io/use-waypoint': 'x' },
      unknown: ['istio.io/use-waypoint-namespace'],
    })
    expect(refused).toEqual([
      expect.stringContaining('relation 7 (service-mesh): label bad key is not applied'),
      expect.stringContaining(
        'label istio.io/use-waypoint-namespace is not applied: the value must be a string, not 5',
      ),
    ])
  })
})

test.each([
  ['JSON values', { labels: { 'istio.io/use-waypoint': 'x' }, mesh_type: 'istio' }],
  ['strings of JSON, as in Juju', { labels: '{"istio.io/use-waypoint": "x"}', mesh_type: '"istio"' }],
])('a databag of %s', (_, data) => {
  expect(desired([relation(7, data)])).toEqual({
    labels: { 'istio.io/use-waypoint': 'x' },
    required: true,
    unknown: [],
    messages: [],
  })
})

test('a relation that says nothing yet wants nothing', () => {
  expect(desired([relation(7, {})])).toEqual({ labels: {}, required: false, unknown: [], messages: [] })
})

test('the union of config, mesh and cluster', () => {
  const cluster = relation(
    9,
    { worker_labels: { 'app.kubernetes.io/part-of': 'beacon' } },
    { endpoint: 'cluster', interface: 'cluster' },
  )
  expect(
    desired([cluster, relation(7, { labels: { 'istio.io/use-waypoint': '2' } })], { labels: { a: '1' } }).labels,
  ).toEqual({
    a: '1',
    'istio.io/use-waypoint': '2',
    'app.kubernetes.io/part-of': 'beacon',
  })
})

test('of two values for a key the config goes first, then the lower relation id, and the other is named', () => {
  const relations = [
    relation(8, { labels: { 'istio.io/use-waypoint-namespace': '8', 'istio.io/use-waypoint': '8' } }),
    relation(7, { labels: { 'istio.io/use-waypoint': '7' } }),
  ]
  const { labels, messages } = desired(relations, { labels: { 'istio.io/use-waypoint-namespace': 'config' } })
  expect(labels).toEqual({ 'istio.io/use-waypoint-namespace': 'config', 'istio.io/use-waypoint': '7' })
  expect(messages).toHaveLength(2)
})

test.each([
  ['the provider of service_mesh', { role: 'provides' }],
  ['a relation of another interface', { interface: 'ingress' }],
] as const)('%s wants no labels of its own', (_, changes) => {
  expect(desired([relation(7, { labels: { 'istio.io/use-waypoint': 'x' } }, changes)]).labels).toEqual({})
})

test('keys that every object has are ordinary keys', () => {
  expect(desired([], { labels: { constructor: 'x', toString: 'y' } }).labels).toEqual({
    constructor: 'x',
    toString: 'y',
  })
})

describe('of other applications', () => {
  const cluster = (labels: Record<string, string>, home: { namespace?: string } = {}) =>
    relation(
      9,
      {},
      {
        ...{ endpoint: 'cluster', interface: 'cluster' },
        remote: { application: 'tempo', ...home, data: { worker_labels: labels } },
      },
    )
  const ofBeacon = (labels: Record<string, string>) => relation(7, { labels })
  const mesh = meshLabels({ model: 'shop', application: 'beacon' })
  const partOf = { 'app.kubernetes.io/part-of': 'tempo' }

  test.each([
    ['a beacon puts pods on its mesh', ofBeacon(mesh)],
    ['a beacon has its waypoint used from the ingress', ofBeacon({ 'istio.io/ingress-use-waypoint': 'true' })],
    ['a coordinator says which cluster it is', cluster(partOf)],
    ['a coordinator hands on the labels of its mesh', cluster({ ...mesh, ...partOf })],
  ])('%s', (_, one) => {
    const { labels, worker_labels } = one.remote.data
    expect(desired([one])).toMatchObject({ labels: labels ?? worker_labels, messages: [] })
  })

  test.each([
    ['a beacon takes no pods to another Service', ofBeacon({ app: 'db' }), 'app'],
    ['a beacon takes no pods off the mesh', ofBeacon({ 'istio.io/dataplane-mode': 'none' }), 'istio.io/dataplane-mode'],
    [
      'a beacon takes no pods past their waypoint',
      ofBeacon({ 'istio.io/use-waypoint': 'none' }),
      'istio.io/use-waypoint',
    ],
    ['a beacon injects no sidecar', ofBeacon({ 'sidecar.istio.io/inject': 'true' }), 'sidecar.istio.io/inject'],
    ['a beacon makes no pod one of a cluster', ofBeacon(partOf), 'app.kubernetes.io/part-of'],
    [
      'a coordinator makes no pod one of another cluster',
      cluster({ 'app.kubernetes.io/part-of': 'loki' }),
      'app.kubernetes.io/part-of',
    ],
    [
      'a coordinator of another namespace makes no pod one of its namesake here',
      cluster(partOf, { namespace: 'elsewhere' }),
      'app.kubernetes.io/part-of',
    ],
    ['a coordinator takes no pods to another Service', cluster({ app: 'db' }), 'app'],
    [
      'a coordinator takes no pods off the mesh',
      cluster({ 'istio.io/dataplane-mode': 'none' }),
      'istio.io/dataplane-mode',
    ],
  ])('%s: what was held is let go of, and it is told', (_, one, key) => {
    const { labels, unknown, refused } = desired([one])
    expect({ labels, unknown }).toEqual({ labels: {}, unknown: [] })
    expect(refused).toEqual([expect.stringContaining(`label ${key} is not applied: a `)])
  })

  test('what is refused does not keep out what the config or another relation asks for', () => {
    const { labels } = desired([ofBeacon({ app: 'db' })], { labels: { app: 'web' } })
    expect(labels).toEqual({ app: 'web' })
  })
})
