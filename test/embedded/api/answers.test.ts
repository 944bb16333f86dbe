import { expect, test } from 'vitest'
import {
  type Client,
  CONFIG_MAPS,
  configMap,
  createClient,
  DEPLOYMENTS,
  PODS,
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
const web = (client: Client): unknown => client.post(STATEFUL_SETS, workload('StatefulSet'))
const policy = {
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'p' },
  spec: { action: 'ALLOW' },
}
const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'l' },
  spec: { holderIdentity: 'a' },
}
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const merge = 'application/merge-patch+json'
const apply = 'application/apply-patch+yaml'
const changed = 'the object has been modified; please apply your changes to the latest version and try again'
const namePart = /name part must consist of alphanumeric characters/

const rows: Row[] = [
  { name: 'a path of no group', call: ['GET', '/apis/example.com/v1/things'], want: { status: 404 } },
  {
    name: 'a path of no resource of a built-in group',
    call: ['GET', '/api/v1/namespaces/default/things'],
    want: { status: 404, reason: 'NotFound', message: 'the server could not find the requested resource' },
  },
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
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    },
  },
  {
    name: 'create with a resourceVersion',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { resourceVersion: '7' })],
    want: { status: 500, message: 'resourceVersion should not be set on objects to be created' },
  },
  {
    name: 'create with YAML',
    call: ['POST', CONFIG_MAPS, 'metadata: {name: a}\ndata: {k: v}', 'application/yaml'],
    want: { status: 201 },
  },
  {
    name: 'create with another media type',
    call: ['POST', CONFIG_MAPS, 'x', 'text/plain'],
    want: { status: 415, reason: 'UnsupportedMediaType', message: /^the body of the request was in an unknown format/ },
  },
  {
    name: 'create with text that is not JSON',
    call: ['POST', CONFIG_MAPS, '{"a":x}'],
    want: {
      status: 400,
      message: `the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character 'x' looking for beginning of value ({"a":x})`,
    },
  },
  {
    name: 'create with no body',
    call: ['POST', CONFIG_MAPS, ''],
    want: { status: 400, message: /unexpected end of JSON input \(<empty>\)$/ },
  },
  {
    name: 'create with another version of the kind',
    call: ['POST', STATEFUL_SETS, { ...workload('StatefulSet'), apiVersion: 'apps/v1beta1' }],
    want: {
      status: 400,
      message: 'the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)',
    },
  },
  {
    name: 'create with a label that is not text',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { labels: { a: 1 } })],
    want: {
      status: 400,
      message:
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    },
  },
  {
    name: 'create of the wrong custom kind',
    call: ['POST', POLICIES, { ...policy, kind: 'Other' }],
    want: {
      status: 422,
      message:
        'AuthorizationPolicy.security.istio.io "p" is invalid: kind: Invalid value: "Other": must be AuthorizationPolicy',
    },
  },
  {
    name: 'create with a bad data key',
    call: ['POST', CONFIG_MAPS, configMap('a', { 'a b': '' })],
    want: { status: 422, causes: ['FieldValueInvalid data[a b]'] },
  },
  {
    name: 'create of more than a mebibyte',
    call: ['POST', CONFIG_MAPS, configMap('a', { a: 'x'.repeat(1048577) })],
    want: { status: 422, message: 'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes' },
  },
  {
    name: 'label keys with a bad prefix, an empty name and too many parts',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { labels: { 'A/b': '', 'a/': '', 'a/b/c': '' } })],
    want: {
      status: 422,
      message: /prefix part a lowercase RFC 1123 subdomain.*name part must be non-empty.*a qualified name must consist/,
    },
  },
  {
    name: 'an annotation key may have capitals, and not spaces',
    call: ['POST', CONFIG_MAPS, configMap('a', {}, { annotations: { 'A/B': '', 'a b': '' } })],
    want: { status: 422, causes: ['FieldValueInvalid metadata.annotations'] },
  },
  {
    name: 'a Service name that starts with a digit',
    call: ['POST', SERVICES, { kind: 'Service', metadata: { name: '1a' }, spec: { ports: [{ port: 80 }] } }],
    want: { status: 422, message: /a DNS-1035 label must consist of/ },
  },
  {
    name: 'a Service without ports',
    call: ['POST', SERVICES, { kind: 'Service', metadata: { name: 'a' } }],
    want: { status: 422, message: 'Service "a" is invalid: spec.ports: Required value' },
  },
  {
    name: 'a StatefulSet that has only labels',
    call: [
      'PATCH',
      `${STATEFUL_SETS}/web?fieldManager=m`,
      { ...workload('StatefulSet'), spec: { template: { metadata: { labels: { a: 'b' } } } } },
      apply,
    ],
    want: {
      status: 422,
      causes: [
        'FieldValueRequired spec.selector',
        'FieldValueInvalid spec.template.metadata.labels',
        'FieldValueRequired spec.template.spec.containers',
      ],
    },
  },
  {
    name: 'a Deployment reports a bad template label once',
    call: ['POST', DEPLOYMENTS, workload('Deployment', {}, { 'a b': '' })],
    want: { status: 422, message: namePart, causes: ['FieldValueInvalid spec.template.labels'] },
  },
  {
    name: 'a fixed field of a StatefulSet',
    have: web,
    call: ['PATCH', `${STATEFUL_SETS}/web`, { spec: { serviceName: 'other' } }, merge],
    want: { status: 422, causes: ['FieldValueForbidden spec'] },
  },
  {
    name: 'a ConfigMap reports a bad label of an update three times',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one`, { metadata: { labels: { 'a b': '' } } }, merge],
    want: { status: 422, message: namePart, causes: Array(3).fill('FieldValueInvalid metadata.labels') },
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
    want: {
      status: 409,
      reason: 'Conflict',
      message: /Precondition failed: UID in precondition: other, UID in object meta: /,
    },
  },
  {
    name: 'replace of a custom resource without its version',
    have: (client) => client.post(POLICIES, policy),
    call: ['PUT', `${POLICIES}/p`, policy],
    want: {
      status: 422,
      message:
        'authorizationpolicies.security.istio.io "p" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    },
  },
  { name: 'replace of a Lease that is missing creates it', call: ['PUT', `${LEASES}/l`, lease], want: { status: 201 } },
  {
    name: 'merge patch that is not JSON',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one`, '{', merge],
    want: { status: 400, message: 'error decoding patch: unexpected end of JSON input' },
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
    want: {
      status: 415,
      message: /accepted media types include: application\/json-patch\+json, application\/merge-patch\+json/,
    },
  },
  {
    name: 'force on a patch that is no apply',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one?force=true`, {}, merge],
    want: {
      status: 422,
      message: 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    },
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
      message: /the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record/,
    },
  },
  {
    name: 'patch with an older version',
    have: one,
    call: ['PATCH', `${CONFIG_MAPS}/one`, { metadata: { resourceVersion: '1' } }, merge],
    want: { status: 409, message: `Operation cannot be fulfilled on configmaps "one": ${changed}` },
  },
  {
    name: 'a field selector nobody knows',
    call: ['GET', `${CONFIG_MAPS}?fieldSelector=data.a%3D1`],
    want: {
      status: 400,
      message: '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
    },
  },
  {
    name: 'dryRun of something else than all',
    call: ['POST', `${CONFIG_MAPS}?dryRun=Some`, configMap('a')],
    want: { status: 422, causes: ['FieldValueNotSupported dryRun'] },
  },
  {
    name: 'a list of pods by phase',
    call: ['GET', `${PODS}?fieldSelector=status.phase%3DRunning`],
    want: { status: 200 },
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
