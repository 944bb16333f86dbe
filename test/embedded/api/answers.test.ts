import { expect, test } from 'vitest'
import {
  type Client,
  CONFIG_MAPS,
  configMap,
  createClient,
  POLICIES,
  SERVICES,
  STATEFUL_SETS,
  workload,
} from '../client.ts'

type Row = {
  name: string
  /** What is there before. */
  have?: (client: Client) => void
  call: Parameters<Client['call']>
  want: { status: number; reason?: string; message?: string | RegExp; causes?: string[] }
}

const one = (client: Client): unknown => client.post(CONFIG_MAPS, configMap('one', { k: 'v' }))
const policy = {
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'p' },
  spec: { action: 'ALLOW' },
}
const merge = 'application/merge-patch+json'
const apply = 'application/apply-patch+yaml'
const changed = 'the object has been modified; please apply your changes to the latest version and try again'

const rows: Row[] = [
  { name: 'a path of no group', call: ['GET', '/apis/example.com/v1/things'], want: { status: 404 } },
  { name: 'a path of no resource', call: ['GET', '/api/v1/namespaces/default/things'], want: { status: 404 } },
  {
    name: 'a method no resource has',
    call: ['PUT', CONFIG_MAPS, configMap('a')],
    want: {
      status: 405,
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
    },
  },
  { name: 'create across namespaces', call: ['POST', '/api/v1/configmaps', configMap('a')], want: { status: 405 } },
  {
    name: 'create in another namespace than the object says',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { namespace: 'other' })],
    want: {
      status: 400,
      message: 'the namespace of the object (other) does not match that of the request (default)',
    },
  },
  {
    name: 'create with a resourceVersion',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { resourceVersion: '7' })],
    want: { status: 500, message: 'resourceVersion should not be set on objects to be created' },
  },
  {
    name: 'create with no body',
    call: ['POST', CONFIG_MAPS, ''],
    want: { status: 400 },
  },
  {
    name: 'create with another version of the kind',
    call: ['POST', STATEFUL_SETS, { ...workload('StatefulSet'), apiVersion: 'apps/v1beta1' }],
    want: { status: 400 },
  },
  {
    name: 'create with a label that is not text',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { labels: { a: 1 } })],
    want: { status: 400, message: 'ConfigMap cannot be read: metadata.labels.a: expected string, got 1' },
  },
  {
    name: 'create of more than a mebibyte',
    call: ['POST', CONFIG_MAPS, configMap('a', { a: 'x'.repeat(1048577) })],
    want: { status: 422, message: 'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes' },
  },
  {
    name: 'label keys with a bad prefix, an empty name and too many parts',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { labels: { 'A/b': '', 'a/': '', 'a/b/c': '' } })],
    want: { status: 422, causes: Array(3).fill('FieldValueInvalid metadata.labels') },
  },
  {
    name: 'an annotation key may have capitals, and not spaces',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { annotations: { 'A/B': '', 'a b': '' } })],
    want: { status: 422, causes: ['FieldValueInvalid metadata.annotations'] },
  },
  {
    name: 'a Service name that starts with a digit',
    call: ['POST', SERVICES, { kind: 'Service', metadata: { name: '1a' }, spec: { ports: [{ port: 80 }] } }],
    want: { status: 422, message: /must be a DNS-1035 label$/ },
  },
  {
    name: 'a bad label of an update',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one`, { metadata: { labels: { 'a b': '' } } }, merge],
    want: { status: 422, causes: ['FieldValueInvalid metadata.labels'] },
  },
  {
    name: 'replace with another name',
    have: one,
    call: ['PUT', `${CONFIG_MAPS}/one`, configMap('two')],
    want: { status: 400, message: 'the name of the object (two) does not match the name on the URL (one)' },
  },
  {
    name: 'replace with another uid',
    have: one,
    call: ['PUT', `${CONFIG_MAPS}/one`, configMap('one', {}, { uid: 'other' })],
    want: { status: 422, causes: ['FieldValueInvalid metadata.uid'] },
  },
  {
    name: 'merge patch that is not JSON',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one`, '{', merge],
    want: { status: 400, message: /^the body cannot be read/ },
  },
  {
    name: 'merge patch with a number for a label',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one`, { metadata: { labels: { a: 1 } } }, merge],
    want: { status: 422, causes: ['FieldValueInvalid patch'] },
  },
  {
    name: 'strategic merge patch of a custom resource',
    have: (client) => client.post(POLICIES, policy),
    call: ['PATCH', `${POLICIES}/p`, {}, 'application/strategic-merge-patch+json'],
    want: { status: 415 },
  },
  {
    name: 'apply of another kind',
    call: ['PATCH', `${CONFIG_MAPS}/one?fieldManager=m`, { apiVersion: 'v1', kind: 'Secret' }, apply],
    want: { status: 400, reason: 'BadRequest' },
  },
  {
    name: 'apply with managed fields',
    call: ['PATCH', `${CONFIG_MAPS}/one?fieldManager=m`, configMap('one', {}, { managedFields: [{}] }), apply],
    want: { status: 400, message: 'metadata.managedFields must be nil' },
  },
  {
    name: 'delete with another version',
    have: one,
    call: ['DELETE', `${CONFIG_MAPS}/one`, { preconditions: { resourceVersion: '1' } }],
    want: {
      status: 409,
      message: /the resourceVersion in the precondition \(1\) does not match that in record/,
    },
  },
  {
    name: 'patch with an older version',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one`, { metadata: { resourceVersion: '1' } }, merge],
    want: { status: 409, message: `Operation cannot be fulfilled on configmaps "one": ${changed}` },
  },
]

test.each(rows)('$name', ({ have, call, want }) => {
  const client = createClient()
  have?.(client)
  const { status, object } = client.call(...call)
  expect(status).toBe(want.status)
  if (want.reason) expect(object.reason).toBe(want.reason)
  if (typeof want.message === 'string') expect(object.message).toBe(want.message)
  if (want.message instanceof RegExp) expect(object.message).toMatch(want.message)
  if (want.causes) {
    const causes = object.details.causes as { reason: string; field: string }[]
    expect(causes.map(({ reason, field }) => `${reason} ${field}`)).toEqual(want.causes)
  }
})

test('a refused write leaves everything as it was', () => {
  for (const { have, call, want } of rows.filter((row) => row.want.status >= 400)) {
    const client = createClient()
    have?.(client)
    const before = client.api.objects()
    expect(client.call(...call).status).toBe(want.status)
    expect(client.api.objects()).toEqual(before)
  }
})
