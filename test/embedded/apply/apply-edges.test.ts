import { expect, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'

test('an apply of nothing takes away the only labels, and leaves the rest of the metadata', () => {
  const api = createEmbeddedApi()
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { ports: [{ port: 80 }] },
  }
  api.seed([service], { manager: 'juju' })
  const apply = (metadata: Record<string, unknown>) =>
    api.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/default/services/web?fieldManager=us',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', ...metadata } }),
    })
  const find = () => api.objects().find(({ kind }) => kind === 'Service')
  const uid = find()?.metadata.uid
  expect(apply({ uid, labels: { mesh: 'on' } }).status).toBe(200)
  expect(apply({ uid }).status).toBe(200)
  const metadata = find()?.metadata
  expect(metadata).toMatchObject({ name: 'web', namespace: 'default', uid, creationTimestamp: expect.any(String) })
  expect(metadata?.labels).toBeUndefined()
  expect((metadata?.managedFields ?? []).map(({ manager }) => manager)).toEqual(['juju'])
})

test('a label named like a member of every object has no holder once it is gone', () => {
  const api = createEmbeddedApi()
  api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'default' } }], {
    manager: 'juju',
  })
  const label = (value: string | null) =>
    api.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/default/configmaps/one?fieldManager=us',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { constructor: value } } }),
    })
  label('1')
  label(null)
  const metadata = api.objects().find(({ kind }) => kind === 'ConfigMap')?.metadata
  expect(metadata?.labels).toBeUndefined()
  expect((metadata?.managedFields ?? []).map(({ manager }) => manager)).not.toContain('us')
})

const ports = [{ port: 80, protocol: 'TCP', targetPort: 80 }]
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default', labels: { app: 'web' }, annotations: { a: 'b' }, finalizers: ['x/y'] },
  spec: { ports, selector: { app: 'web' } },
}

const applyOf = (fields: Record<string, unknown>) => {
  const api = createEmbeddedApi()
  api.seed([service], { manager: 'juju' })
  const answer = api.handle({
    method: 'PATCH',
    path: '/api/v1/namespaces/default/services/web?fieldManager=us',
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify({ apiVersion: 'v1', kind: 'Service', ...fields }),
  })
  return { status: answer.status, object: JSON.parse(answer.body) }
}

test.each([
  { metadata: { labels: null } },
  { metadata: { annotations: null } },
  { metadata: { finalizers: null } },
  { spec: null },
  { spec: { ports: null } },
  { metadata: null },
])('null is a map or list without members: an apply of %j leaves what others hold', (fields) => {
  const { status, object } = applyOf(fields)
  expect(status).toBe(200)
  const { labels, annotations, finalizers, managedFields } = object.metadata
  expect({ labels, annotations, finalizers }).toEqual({
    labels: service.metadata.labels,
    annotations: service.metadata.annotations,
    finalizers: service.metadata.finalizers,
  })
  expect(object.spec).toMatchObject(service.spec)
  const juju = (managedFields as { manager: string; fieldsV1: unknown }[]).find(({ manager }) => manager === 'juju')
  expect(juju?.fieldsV1).toMatchObject({ 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } } })
})

test('null for what is held as a whole is a conflict', () => {
  expect(applyOf({ spec: { selector: null } })).toMatchObject({ status: 409, object: { reason: 'Conflict' } })
})
