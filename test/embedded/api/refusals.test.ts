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
  TYPES,
  workload,
} from '../client.ts'

type Call = Parameters<Client['call']>

const SECRETS = '/api/v1/namespaces/default/secrets'
const one = `${CONFIG_MAPS}/one`

/** A server that has one object of some kinds; `frozen` is immutable, and `leaving` is being deleted. */
const filled = (): Client => {
  const client = createClient()
  client.post(CONFIG_MAPS, configMap('one', { k: 'v' }))
  client.post(CONFIG_MAPS, { ...configMap('frozen', { k: 'v' }), immutable: true })
  client.post(CONFIG_MAPS, configMap('leaving', {}, { finalizers: ['example.com/a'] }))
  client.delete(`${CONFIG_MAPS}/leaving`)
  client.post(SECRETS, { kind: 'Secret', metadata: { name: 'frozen' }, data: { k: 'dg==' }, immutable: true })
  client.post(STATEFUL_SETS, workload('StatefulSet'))
  client.post(POLICIES, policy('p'))
  return client
}

const policy = (name: string, more: Record<string, unknown> = {}) => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name },
  ...more,
})

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const remove = (body: unknown, type?: string): Call => ['DELETE', one, body, type]
const merge = (path: string, body: unknown): Call => ['PATCH', path, body, TYPES.merge]
const operate = (...operations: unknown[]): Call => ['PATCH', one, operations, TYPES.json]
const setReplicas = (replicas: unknown): Call => merge(`${STATEFUL_SETS}/web`, { spec: { replicas } })
const forbidden = (field: string) => `${field}: Forbidden: field is immutable when \`immutable\` is set`

const rows: [name: string, call: Call, status: number, message: string | RegExp][] = [
  ['an operation without a path', operate({ op: 'remove' }), 422, /our request/],
  ['an operation without an op', operate({ path: '/data' }), 422, /our request/],
  ['an operation that is none', operate(1), 400, /unmarshal number into .* jsonpatch.Operation$/],
  ['a create that is nested too deep', ['POST', CONFIG_MAPS, nested(20_000)], 400, /exceeded max depth/],
  ['a merge patch that is nested too deep', merge(one, nested(20_000)), 400, /exceeded max depth/],
  ['an apply that is nested too deep', ['PATCH', `${one}?fieldManager=m`, nested(20_000), TYPES.apply], 400, /depth/],
  ['YAML that is in itself', ['PUT', one, 'data: &a {b: *a}', 'application/yaml'], 400, /json parse error/],
  ['a delete by an unknown policy', remove({ propagationPolicy: 'Some' }), 422, /propagationPolicy: Unsupported value/],
  ['the same in the query', ['DELETE', `${one}?propagationPolicy=Some`], 422, /propagationPolicy: Unsupported value/],
  ['a delete by two policies', remove({ propagationPolicy: 'Orphan', orphanDependents: true }), 422, /both set$/],
  ['a delete with another kind', remove(configMap('one')), 400, /^no kind "ConfigMap" is registered/],
  ['a delete with another media type', remove('x', 'text/plain'), 415, /accepted media types include/],
  ['a delete with half a dry run', remove({ dryRun: ['Some'] }), 422, /dryRun: Unsupported value: \["Some"\]/],
  ['the same dry run in the query', ['DELETE', `${one}?dryRun=Some`], 422, /dryRun: Unsupported value: \["Some"\]/],
  [
    'a delete of a uid that is no text',
    remove({ preconditions: { uid: 1 } }),
    400,
    /preconditions.uid of type string$/,
  ],
  [
    'a delete of the namespace default',
    ['DELETE', '/api/v1/namespaces/default'],
    403,
    'namespaces "default" is forbidden: this namespace may not be deleted',
  ],
  ['a delete of all namespaces', ['DELETE', '/api/v1/namespaces'], 405, /method/],
  ['a delete of a status', ['DELETE', `${STATEFUL_SETS}/web/status`], 405, /method/],
  [
    'thawing a ConfigMap',
    merge(`${CONFIG_MAPS}/frozen`, { immutable: null }),
    422,
    `ConfigMap "frozen" is invalid: ${forbidden('immutable')}`,
  ],
  [
    'binary data of a frozen Secret',
    merge(`${SECRETS}/frozen`, { immutable: false, data: null }),
    422,
    `Secret "frozen" is invalid: [${forbidden('immutable')}, ${forbidden('data')}]`,
  ],
  [
    'another type of a Secret',
    merge(`${SECRETS}/frozen`, { type: 'example.com/a' }),
    422,
    'Secret "frozen" is invalid: type: Invalid value: "example.com/a": field is immutable',
  ],
  ['a patch to another kind', merge(one, { kind: 'Secret' }), 400, /^Secret in version "v1" cannot be handled/],
  ['a patch to another version', merge(one, { apiVersion: 'v2' }), 400, /^the API version in the data \(v2\)/],
  [
    'a finalizer of what is being deleted',
    merge(`${CONFIG_MAPS}/leaving`, { metadata: { finalizers: ['example.com/a', 'example.com/b'] } }),
    422,
    /no new finalizers can be added if the object is being deleted, found new finalizers \[\]string{"example.com\/b"}$/,
  ],
  [
    'a create with labels that are no map',
    ['POST', CONFIG_MAPS, { ...configMap('a'), metadata: { name: 'a', labels: 'x' } }],
    400,
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string',
  ],
  [
    'a create with a list for data',
    ['POST', CONFIG_MAPS, { ...configMap('a'), data: [] }],
    400,
    /ConfigMap.data of type/,
  ],
  ['a patch of annotations to a text', merge(one, { metadata: { annotations: 'x' } }), 422, /annotations of type/],
  ['a patch of data to a list', operate({ op: 'replace', path: '/data', value: ['x'] }), 422, /ConfigMap.data of type/],
  ['a patch of a value to a map', operate({ op: 'add', path: '/data/a', value: {} }), 422, /unmarshal object into/],
  ['a patch of replicas to a text', setReplicas('2'), 422, /StatefulSetSpec.spec.replicas of type int32$/],
  ['a patch of replicas to a part', setReplicas(1.5), 422, /unmarshal number 1.5 into/],
  ['a patch of replicas to very many', setReplicas(2 ** 31), 422, /unmarshal number 2147483648 into/],
  [
    'a replace with text replicas',
    ['PUT', `${STATEFUL_SETS}/web`, workload('StatefulSet', { replicas: '2' })],
    400,
    /int32/,
  ],
  [
    'a create with text replicas',
    ['POST', DEPLOYMENTS, workload('Deployment', { replicas: '2' })],
    400,
    /DeploymentSpec/,
  ],
  [
    'a Service with one port',
    ['POST', SERVICES, { metadata: { name: 'a' }, spec: { ports: 80 } }],
    400,
    /ServicePort$/,
  ],
  [
    'a custom resource without a spec',
    ['POST', POLICIES, policy('q', { spec: 'x' })],
    422,
    /spec: Invalid value: "string": spec in body must be of type object: "string", <nil>/,
  ],
  ['a patch of a custom spec to a text', merge(`${POLICIES}/p`, { spec: 'x' }), 422, /spec/],
  [
    'an apply of text replicas',
    ['PATCH', `${STATEFUL_SETS}/web?fieldManager=m`, workload('StatefulSet', { replicas: '2' }), TYPES.apply],
    500,
    /^failed to create typed patch object .*: .spec.replicas: expected numeric/,
  ],
  [
    'a body over 3 MiB',
    ['POST', CONFIG_MAPS, 'x'.repeat(3 * 2 ** 20 + 1)],
    413,
    'Request entity too large: limit is 3145728',
  ],
  ['a method like a member of every object', ['constructor', one], 405, /method/],
  ['a media type like a member of every object', ['PATCH', one, {}, 'constructor'], 415, /Media/],
]

test.each(rows)('%s is refused, and nothing changes', (_, call, status, message) => {
  const client = filled()
  const before = client.api.objects()
  const { status: answered, object } = client.call(...call)
  expect(answered).toBe(status)
  if (typeof message === 'string') expect(object.message).toBe(message)
  else expect(object.message).toMatch(message)
  expect(client.api.objects()).toEqual(before)
})

test('a path of neither /api nor /apis is nothing', () => {
  expect(createClient().get('/other/apps/v1/statefulsets').status).toBe(404)
})

test('a delete that says what it may is done: with all options, of any group, as a dry run', () => {
  const client = filled()
  const options = {
    apiVersion: 'apps/v1',
    kind: 'DeleteOptions',
    propagationPolicy: 'Background',
    gracePeriodSeconds: 0,
  }
  expect(client.delete(one, { ...options, dryRun: ['All'] }).status).toBe(200)
  expect(client.call('DELETE', `${one}?dryRun=All`).status).toBe(200)
  expect(client.get(one).status).toBe(200)
  expect(client.delete(one, { ...options, dryRun: [] }).status).toBe(200)
  expect(client.get(one).status).toBe(404)
})

test('an object that owns itself, and two that own each other, can be deleted', () => {
  const client = filled()
  client.post(CONFIG_MAPS, configMap('two'))
  const [first, second] = ['one', 'two'].map((name) => client.get(`${CONFIG_MAPS}/${name}`).object.metadata)
  const owner = (name: string, uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name, uid })
  const own = (name: string, ...ownerReferences: unknown[]) =>
    client.patch(`${CONFIG_MAPS}/${name}`, 'merge', { metadata: { ownerReferences } })
  own('one', owner('two', second.uid))
  own('two', owner('one', first.uid))
  expect(client.delete(one).status).toBe(200)
  expect([client.get(one).status, client.get(`${CONFIG_MAPS}/two`).status]).toEqual([404, 404])
})

test('a body just within 3 MiB is read', () => {
  expect(createClient().post(CONFIG_MAPS, configMap('a', { a: 'x'.repeat(3 * 2 ** 20 - 200) })).status).toBe(422)
})

test('a frozen ConfigMap takes labels, and events are listed', () => {
  const client = filled()
  const labelled = client.patch(`${CONFIG_MAPS}/frozen`, 'merge', { metadata: { labels: { a: 'b' } } })
  expect(labelled.status).toBe(200)
  const field = 'involvedObject.name%3Done%2CinvolvedObject.kind%3DConfigMap'
  expect(client.get(`/api/v1/namespaces/default/events?fieldSelector=${field}`)).toMatchObject({
    status: 200,
    object: { kind: 'EventList', apiVersion: 'v1', items: [] },
  })
})

test('replicas that a JSON patch sets to null are those of the default', () => {
  const client = filled()
  const patch = [{ op: 'replace', path: '/spec/replicas', value: null }]
  expect(client.patch(`${STATEFUL_SETS}/web`, 'json', patch).object.spec.replicas).toBe(1)
})

test('managed fields that are no set of fields leave the recorded ones', () => {
  const client = filled()
  const before = client.get(one).object.metadata.managedFields
  const entry = { manager: 'm', operation: 'Update', apiVersion: 'v1' }
  for (const fieldsV1 of [{ 'k:{': {} }, { 'f:a': 'b' }, { a: {} }]) {
    const answer = client.patch(one, 'merge', { metadata: { managedFields: [{ ...entry, fieldsV1 }] } })
    expect(answer.object.metadata.managedFields).toEqual(before)
  }
})

test('a workload whose name is too long for its pods is stored, without pods', () => {
  const client = createClient()
  const name = 'a'.repeat(63)
  expect(client.post(STATEFUL_SETS, { ...workload('StatefulSet'), metadata: { name } }).status).toBe(201)
  expect(client.get(PODS).object.items).toEqual([])
  expect(client.post(DEPLOYMENTS, { ...workload('Deployment'), metadata: { name } }).status).toBe(201)
  expect(client.get(PODS).object.items).toHaveLength(1)
})
