import { describe, expect, test } from 'vitest'
import type { Event } from '../../../../src/platform/cloudevents/cloud-event.ts'
import { fromKnative, holderIn } from '../../../../src/platform/cloudevents/knative/knative.ts'

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
      /data\.remote: neither JSON nor YAML/,
    ],
    [
      'YAML that expands itself',
      { application: 'web', relation: '{}', remote: 'a: &a [1]\nb: [*a, *a]' },
      /data\.remote: neither JSON nor YAML/,
    ],
  ])('%s', (_, data, message) => {
    expect(() => fromKnative(knative('add', document('relation', data as Record<string, string>)))).toThrow(message)
  })

  test('YAML of a length that would take minutes', () => {
    const remote = Array.from({ length: 10_000 }, (_, index) => `key-${index}: 1`).join('\n')
    expect(() =>
      fromKnative(knative('add', document('relation', { application: 'web', relation: '{}', remote }))),
    ).toThrow(/YAML of at most 65536 characters/)
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
    ['an update of a Pod', knative('update', pod({})), /its add and its delete are/],
    ['a deleted Pod of nobody', knative('delete', pod({})), /neither a label app\.kubernetes\.io\/name nor an owner/],
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
    ['another source of Knative', { ...knative('add', {}), type: 'dev.knative.kafka.event' }, /not a known type/],
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

describe('a pod that goes', () => {
  const owned = (changes: Record<string, unknown> = {}, status?: Record<string, unknown>) => ({
    ...pod({ ownerReferences: owner('StatefulSet', 'web'), ...changes }),
    ...(status && { status }),
  })

  test.each([
    ['is deleted', 'delete', owned()],
    ['was evicted before anybody told of it', 'add', owned({}, { phase: 'Failed', reason: 'Evicted' })],
    ['has ended', 'add', owned({}, { phase: 'Succeeded' })],
    ['is being deleted', 'add', owned({ deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('a pod that %s is told as gone', (_, verb, object) => {
    expect(fromKnative(knative(verb, object))).toMatchObject({
      type: 'dev.meshstep.pod-restarted.v1',
      data: { namespace: 'shop', application: 'web', pod: { name: 'web-0', uid: 'u' }, gone: true },
    })
  })
})

describe('a Deployment', () => {
  const deployment = (labels: Record<string, string>) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop-beacon-waypoint', namespace: 'shop', labels },
  })
  const OF_GATEWAY = { 'gateway.networking.k8s.io/gateway-name': 'shop-beacon-waypoint' }
  const OF_BEACON = { ...OF_GATEWAY, 'meshstep.dev/application': 'beacon' }

  test('a Deployment of a waypoint that changes is a resync of its beacon', () => {
    expect(fromKnative(knative('update', deployment(OF_BEACON)))).toMatchObject({
      ...{ id: '1', type: 'dev.meshstep.resync.v1' },
      data: { namespace: 'shop', application: 'beacon' },
    })
  })

  test.each([
    ['that is no waypoint', knative('update', deployment({ 'meshstep.dev/application': 'web' })), /no waypoint/],
    ['of a Gateway of others', knative('update', deployment(OF_GATEWAY)), /no waypoint/],
    ['of a waypoint that goes', knative('delete', deployment(OF_BEACON)), /delete of a waypoint says nothing/],
  ])('a Deployment %s is ignored', (_, sent, why) => {
    expect(fromKnative(sent)).toEqual({ ignored: expect.stringMatching(why) })
  })
})

describe('a Lease is leader-elected', () => {
  const held = (name: string, metadata: Record<string, unknown>) => pod({ name, ...metadata })
  const ofSet = (name: string, set: string) => held(name, { ownerReferences: owner('StatefulSet', set) })
  const WEB = { 'app.kubernetes.io/name': 'web' }

  test.each([
    [
      'its label, whoever holds it',
      lease({ holderIdentity: 'tempo-1', leaseTransitions: 3 }, WEB),
      ofSet('tempo-1', 'tempo'),
      { application: 'web', unit: 'tempo-1', epoch: 3 },
    ],
    [
      'its label, and the number of the pod that holds it',
      lease({ holderIdentity: 'web-1' }, WEB),
      ofSet('web-1', 'web'),
      { application: 'web', unit: 'web/1' },
    ],
    [
      'the pod that holds it',
      lease({ holderIdentity: 'web-0', leaseTransitions: 0 }),
      ofSet('web-0', 'web'),
      { application: 'web', unit: 'web/0', epoch: 0 },
    ],
    [
      'the pod in the holder’s identity',
      lease({ holderIdentity: 'web-0_5f1c' }),
      ofSet('web-0', 'web'),
      { application: 'web', unit: 'web/0' },
    ],
    [
      'a pod of a Deployment, however many digits it ends in',
      lease({ holderIdentity: 'web-5d87596669-24567' }),
      held('web-5d87596669-24567', {
        labels: { 'pod-template-hash': '5d87596669' },
        ownerReferences: owner('ReplicaSet', 'web-5d87596669'),
      }),
      { application: 'web', unit: 'web-5d87596669-24567' },
    ],
    [
      'its own name, and a holder that is no pod is not cut',
      lease({ holderIdentity: 'web-0' }),
      undefined,
      { application: 'leader', unit: 'web-0' },
    ],
  ])('a Lease is leader-elected by %s', (_, object, holder, data) => {
    expect(fromKnative(knative('update', object), holder)).toMatchObject({
      type: 'dev.meshstep.leader-elected.v1',
      data: { namespace: 'shop', ...data },
    })
  })

  test('a Lease is leader-elected with its uid and age: one that was made anew is another', () => {
    const object = lease({ holderIdentity: 'web-0' }, WEB)
    const made = { ...object, metadata: { ...object.metadata, uid: 'l', creationTimestamp: '2026-01-01T00:00:00Z' } }
    expect(fromKnative(knative('add', made))).toMatchObject({
      data: { lease: { uid: 'l', created: '2026-01-01T00:00:00Z' } },
    })
  })

  test.each([
    ['of a renewal', knative('update', lease({ holderIdentity: 'web-0_5f1c' })), 'web-0'],
    ['of a holder that no pod could be', knative('update', lease({ holderIdentity: 'Web 0' })), undefined],
    ['of nobody', knative('update', lease({})), undefined],
    ['of a Lease that is gone', knative('delete', lease({ holderIdentity: 'web-0' })), undefined],
    ['of a Pod', knative('add', pod({})), undefined],
  ])('whose holder is looked up: %s', (_, sent, name) => {
    expect(holderIn(sent)?.pod.name).toBe(name)
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
