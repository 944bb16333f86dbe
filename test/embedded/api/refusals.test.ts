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

const one = `${CONFIG_MAPS}/one`

/** A server that has one object of some kinds. */
const filled = (): Client => {
  const client = createClient()
  client.post(CONFIG_MAPS, configMap('one', { k: 'v' }))
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

const remove = (body: unknown): Call => ['DELETE', one, body]
const merge = (path: string, body: unknown): Call => ['PATCH', path, body, TYPES.merge]
const operate = (...operations: unknown[]): Call => ['PATCH', one, operations, TYPES.json]
const setReplicas = (replicas: unknown): Call => merge(`${STATEFUL_SETS}/web`, { spec: { replicas } })

const rows: [name: string, call: Call, status: number, message: string | RegExp][] = [
  ['an operation without a path', operate({ op: 'remove' }), 422, /our request/],
  ['an operation without an op', operate({ path: '/data' }), 422, /our request/],
  ['an operation that is none', operate(1), 400, /a list of operations$/],
  ['a delete with half a dry run', remove({ dryRun: ['Some'] }), 422, 'dryRun: expected All'],
  ['the same dry run in the query', ['DELETE', `${one}?dryRun=Some`], 422, 'dryRun: expected All'],
  ['a delete of all namespaces', ['DELETE', '/api/v1/namespaces'], 405, /method/],
  ['a delete of a status', ['DELETE', `${STATEFUL_SETS}/web/status`], 405, /method/],
  ['a patch to another kind', merge(one, { kind: 'Secret' }), 400, /got {"apiVersion":"v1","kind":"Secret"}$/],
  ['a patch to another version', merge(one, { apiVersion: 'v2' }), 400, /got {"apiVersion":"v2","kind":"ConfigMap"}$/],
  [
    'a create with labels that are no map',
    ['POST', CONFIG_MAPS, { ...configMap('a'), metadata: { name: 'a', labels: 'x' } }],
    400,
    'ConfigMap cannot be read: metadata.labels: expected map, got "x"',
  ],
  ['a create with a list for data', ['POST', CONFIG_MAPS, { ...configMap('a'), data: [] }], 400, /data: expected map/],
  [
    'a patch of annotations to a text',
    merge(one, { metadata: { annotations: 'x' } }),
    422,
    /annotations: expected map/,
  ],
  ['a patch of data to a list', operate({ op: 'replace', path: '/data', value: ['x'] }), 422, /data: expected map/],
  ['a patch of a value to a map', operate({ op: 'add', path: '/data/a', value: {} }), 422, /data.a: expected string/],
  ['a patch of replicas to a text', setReplicas('2'), 422, /spec.replicas: expected numeric .*, got \\?"2\\?"$/],
  ['a patch of replicas to a part', setReplicas(1.5), 422, /spec.replicas: expected int32/],
  ['a patch of replicas to very many', setReplicas(2 ** 31), 422, /spec.replicas: expected int32/],
  [
    'replicas in text',
    ['PUT', `${STATEFUL_SETS}/web`, workload('StatefulSet', { replicas: '2' })],
    400,
    /expected numeric/,
  ],
  ['a Service with one port', ['POST', SERVICES, { metadata: { name: 'a' }, spec: { ports: 80 } }], 400, /list/],
  [
    'a custom resource without a spec',
    ['POST', POLICIES, policy('q', { spec: 'x' })],
    422,
    'AuthorizationPolicy.security.istio.io "q" is invalid: spec: Invalid value: "x": must be object',
  ],
  ['a patch of a custom spec to a text', merge(`${POLICIES}/p`, { spec: 'x' }), 422, /spec/],
  [
    'an apply of text replicas',
    ['PATCH', `${STATEFUL_SETS}/web?fieldManager=m`, workload('StatefulSet', { replicas: '2' }), TYPES.apply],
    500,
    /^failed to create typed patch object .*: .spec.replicas: expected numeric/,
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

test('events are listed', () => {
  const client = filled()
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

test('a workload whose name is too long for its pods is stored, without pods', () => {
  const client = createClient()
  const name = 'a'.repeat(63)
  expect(client.post(STATEFUL_SETS, { ...workload('StatefulSet'), metadata: { name } }).status).toBe(201)
  expect(client.get(PODS).object.items).toEqual([])
  expect(client.post(DEPLOYMENTS, { ...workload('Deployment'), metadata: { name } }).status).toBe(201)
  expect(client.get(PODS).object.items).toHaveLength(1)
})
