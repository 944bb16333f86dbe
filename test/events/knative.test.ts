import { describe, expect, test } from 'vitest'
import type { Event } from '../../src/events/cloud-event.ts'
import { fromKnative } from '../../src/events/knative.ts'

const knative = (verb: string, object: Record<string, unknown>, mode = 'resource'): Event => ({
  id: '1',
  source: 'https://10.96.0.1:443',
  type: `dev.knative.apiserver.${mode}.${verb}`,
  time: '2026-01-01T00:00:00.000000001Z',
  extensions: { kind: 'x' },
  data: object,
})

const pod = (metadata: Record<string, unknown>) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-0', namespace: 'shop', uid: 'u', ...metadata },
})

const owner = (kind: string, name: string) => [{ apiVersion: 'apps/v1', kind, name, uid: 'o', controller: true }]

const lease = (spec: Record<string, unknown>, labels?: Record<string, string>) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'leader', namespace: 'shop', ...(labels && { labels }) },
  spec,
})

const document = (kind: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'relation-7', namespace: 'shop', labels: { 'meshstep.dev/kind': kind } },
  data,
})

const relation = { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' }

describe('a document that cannot be read is refused, by name and key', () => {
  test.each([
    ['no relation', { application: 'web' }, /ConfigMap shop\/relation-7: data\.relation is missing/],
    ['no application', { relation: '{}' }, /ConfigMap shop\/relation-7: data\.application is missing/],
    [
      'a remote that is neither JSON nor YAML',
      { application: 'web', relation: '{}', remote: '{"a":' },
      /data\.remote is neither JSON nor YAML/,
    ],
    [
      'YAML that expands itself',
      { application: 'web', relation: '{}', remote: 'a: &a [1]\nb: [*a, *a]' },
      /data\.remote is neither JSON nor YAML/,
    ],
  ])('%s', (_, data, message) => {
    expect(() => fromKnative(knative('add', document('relation', data as Record<string, string>)))).toThrow(message)
  })

  test('YAML of a length that would take minutes', () => {
    const remote = Array.from({ length: 10_000 }, (_, index) => `key-${index}: 1`).join('\n')
    expect(() =>
      fromKnative(knative('add', document('relation', { application: 'web', relation: '{}', remote }))),
    ).toThrow(/YAML may have 65536 characters/)
  })

  test('owners that are no list', () => {
    expect(() => fromKnative(knative('add', pod({ ownerReferences: {} })))).toThrow(/expected a Kubernetes object/)
  })

  test('data that is no object of Kubernetes', () => {
    expect(() => fromKnative(knative('add', { a: 1 }))).toThrow(/expected a Kubernetes object/)
  })
})

describe('what means nothing here is ignored, with the reason', () => {
  test.each([
    ['an update of a Pod', knative('update', pod({})), /only its add/],
    ['a deleted Pod', knative('delete', pod({})), /only its add/],
    ['a Pod of nobody', knative('add', pod({})), /neither a label app\.kubernetes\.io\/name nor an owner/],
    ['a Lease without a holder', knative('update', lease({})), /no holder/],
    ['a deleted Lease', knative('delete', lease({ holderIdentity: 'web-0' })), /does not say who leads/],
    ['a ConfigMap that is no document', knative('add', document('other', {})), /no document/],
    [
      'another kind',
      knative('add', { kind: 'Node', metadata: { name: 'n', namespace: 'shop' } }),
      /a Node is not a lifecycle event/,
    ],
    [
      'a deletion in mode Reference',
      knative('delete', { kind: 'Pod', name: 'x', namespace: 'shop' }, 'ref'),
      /mode Reference/,
    ],
    [
      'another source of Knative',
      { ...knative('add', {}), type: 'dev.knative.kafka.event' },
      /not a type that is known/,
    ],
  ])('%s', (_, sent, reason) => {
    expect(fromKnative(sent)).toEqual({ ignored: expect.stringMatching(reason) })
  })
})

describe('a Pod that is added is pod-restarted', () => {
  test.each([
    [
      'by its label',
      { labels: { 'app.kubernetes.io/name': 'tempo' }, ownerReferences: owner('StatefulSet', 'web') },
      'tempo',
      'tempo/0',
    ],
    ['by its StatefulSet', { ownerReferences: owner('StatefulSet', 'web') }, 'web', 'web/0'],
    [
      'by its Deployment',
      {
        name: 'web-5d87-abcde',
        labels: { 'pod-template-hash': '5d87' },
        ownerReferences: owner('ReplicaSet', 'web-5d87'),
      },
      'web',
      undefined,
    ],
    ['by its bare ReplicaSet', { name: 'web-abcde', ownerReferences: owner('ReplicaSet', 'web') }, 'web', undefined],
    [
      'by its ReplicaSet, whatever its hash looks like',
      { labels: { 'pod-template-hash': '(a+)+b' }, ownerReferences: owner('ReplicaSet', 'web') },
      'web',
      undefined,
    ],
    ['by its Job', { name: 'web-12', ownerReferences: owner('Job', 'web') }, 'web', undefined],
  ])('%s', (_, metadata, application, unit) => {
    const event = fromKnative(knative('add', pod(metadata)))
    expect(event).toMatchObject({
      type: 'dev.meshstep.pod-restarted.v1',
      id: '1',
      source: 'https://10.96.0.1:443',
      time: '2026-01-01T00:00:00.000000001Z',
    })
    expect((event as Event).data).toEqual({
      namespace: 'shop',
      application,
      ...(unit && { unit }),
      pod: { name: expect.any(String), uid: 'u' },
    })
  })
})

test.each([
  [
    'by its label',
    lease({ holderIdentity: 'tempo-1', leaseTransitions: 3 }, { 'app.kubernetes.io/name': 'web' }),
    { application: 'web', unit: 'web/1', epoch: 3 },
  ],
  [
    'by the pod that holds it',
    lease({ holderIdentity: 'web-0', leaseTransitions: 0 }),
    { application: 'web', unit: 'web/0', epoch: 0 },
  ],
  [
    'by the pod in the holder’s identity',
    lease({ holderIdentity: 'web-0_5f1c' }),
    { application: 'web', unit: 'web/0' },
  ],
  ['by its own name', lease({ holderIdentity: 'someone' }), { application: 'leader', unit: 'someone' }],
])('a Lease is leader-elected, %s', (_, object, data) => {
  expect(fromKnative(knative('update', object))).toMatchObject({
    type: 'dev.meshstep.leader-elected.v1',
    data: { namespace: 'shop', ...data },
  })
})

describe('a document', () => {
  const json = { application: 'web', relation: JSON.stringify(relation), remote: '{"application":"beacon","data":{}}' }
  const yaml = {
    application: '"web"',
    relation: 'id: 7\nendpoint: service-mesh\ninterface: service_mesh\nrole: requires\n',
    remote: 'application: beacon\ndata: {}\n',
  }

  test.each([
    ['add', json],
    ['update', json],
    ['add', yaml],
  ])('%s of a relation is relation-changed', (verb, data) => {
    expect(fromKnative(knative(verb, document('relation', data)))).toMatchObject({
      type: 'dev.meshstep.relation-changed.v1',
      data: { namespace: 'shop', application: 'web', relation, remote: { application: 'beacon', data: {} } },
    })
  })

  test('delete of a relation is relation-broken', () => {
    expect(fromKnative(knative('delete', document('relation', json)))).toMatchObject({
      type: 'dev.meshstep.relation-broken.v1',
      data: { namespace: 'shop', application: 'web', document: 'relation-7', relation: { id: 7 } },
    })
  })

  test('delete of a relation that can no longer be read goes by its name', () => {
    const broken = document('relation', { application: 'web', relation: '{"id": ' })
    expect(fromKnative(knative('delete', broken))).toMatchObject({
      data: { application: 'web', document: 'relation-7' },
    })
  })

  test('of config is config-changed, and its deletion application-removed', () => {
    const config = document('config', { application: 'web', config: 'enrolment: in-place' })
    expect(fromKnative(knative('add', config))).toMatchObject({
      type: 'dev.meshstep.config-changed.v1',
      data: { application: 'web', config: { enrolment: 'in-place' } },
    })
    expect(fromKnative(knative('delete', config))).toMatchObject({
      type: 'dev.meshstep.application-removed.v1',
      data: { namespace: 'shop', application: 'web' },
    })
  })
})

test.each([
  ['of its PingSource', undefined, 'shop'],
  ['in its data', { namespace: 'other' }, 'other'],
])('a ping is resync of the namespace %s', (_, data, namespace) => {
  const ping: Event = {
    id: '1',
    source: '/apis/v1/namespaces/shop/pingsources/resync',
    type: 'dev.knative.sources.ping',
    extensions: {},
    data,
  }
  expect(fromKnative(ping)).toMatchObject({ type: 'dev.meshstep.resync.v1', data: { namespace } })
})
