import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../helpers/runs.ts'
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

type Json = fc.JsonValue | undefined

const SECRETS = '/api/v1/namespaces/default/secrets'
const AUTOSCALERS = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways'

const containers = [{ name: 'c', image: 'example.invalid/x:1' }]
const objects: Record<string, Record<string, unknown>> = {
  [CONFIG_MAPS]: configMap('web', { k: 'v' }, { labels: { a: 'b' }, finalizers: ['example.com/a'] }),
  [SECRETS]: { kind: 'Secret', metadata: { name: 'web' }, stringData: { k: 'v' }, immutable: true },
  [SERVICES]: { kind: 'Service', metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } },
  [PODS]: { kind: 'Pod', metadata: { name: 'web' }, spec: { containers } },
  [STATEFUL_SETS]: workload('StatefulSet'),
  [DEPLOYMENTS]: workload('Deployment'),
  [AUTOSCALERS]: {
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web' },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' }, maxReplicas: 3 },
  },
  [POLICIES]: {
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'web' },
    spec: { action: 'ALLOW' },
  },
  [GATEWAYS]: {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'web' },
    spec: { gatewayClassName: 'a', listeners: [{ name: 'a', port: 80, protocol: 'TCP' }] },
  },
  '/api/v1/namespaces': { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } },
  '/api/v1/namespaces/default/events': { kind: 'Event', metadata: { name: 'web' }, involvedObject: { kind: 'Pod' } },
  '/apis/authentication.k8s.io/v1/tokenreviews': { kind: 'TokenReview', spec: { token: 't' } },
  '/apis/authorization.k8s.io/v1/subjectaccessreviews': { kind: 'SubjectAccessReview', spec: { user: 'u' } },
}

const sharp: Json[] = [null, '', 'a', -1, 0, 1.5, 1e10, true, [], {}, [null], [[]], [{}], { a: null }, ['a', 'a']]
const sharper: Json[] = [{ toString: 1 }, { constructor: 1 }, { $patch: 'delete' }, [{ $patch: 'replace' }, 1]]
const odd = fc.oneof(fc.constantFrom(...sharp, ...sharper), fc.jsonValue({ maxDepth: 3 }))

const places = [
  ...['kind', 'apiVersion', 'metadata', 'spec', 'status', 'data', 'immutable', 'type', 'involvedObject', '__proto__'],
  ...['name', 'generateName', 'namespace', 'uid', 'resourceVersion', 'labels', 'annotations', 'finalizers'].map(
    (key) => `metadata.${key}`,
  ),
  ...['ownerReferences', 'ownerReferences.0', 'ownerReferences.0.uid', 'managedFields', 'deletionTimestamp'].map(
    (key) => `metadata.${key}`,
  ),
  ...['manager', 'operation', 'apiVersion', 'time', 'fieldsV1', 'fieldsV1.f:data', 'fieldsV1.k:{', 'fieldsV1.x'].map(
    (key) => `metadata.managedFields.0.${key}`,
  ),
  ...['metadata.labels.constructor', 'data.constructor', 'data.__proto__', 'metadata.annotations.a', 'data.a'],
  ...['replicas', 'selector', 'template', 'ports', 'ports.0', 'ports.0.port', 'type', 'clusterIP', 'action', 'mtls'],
  ...['selector.matchLabels', 'selector.matchExpressions', 'selector.matchExpressions.0', 'ordinals', 'ordinals.start'],
  ...['template.metadata', 'template.metadata.labels', 'template.spec', 'template.spec.containers', 'containers'],
  ...['containers.0', 'containers.0.name', 'containers.0.image', 'containers.0.env', 'volumes', 'listeners', 'token'],
  ...['scaleTargetRef', 'minReplicas', 'maxReplicas', 'resourceAttributes', 'user', 'audiences', 'constructor'],
].map((place) => (/^(metadata|data|kind|status|immutable|[a-z]+$)/i.test(place) ? place : `spec.${place}`))

/** The value with another one at a path; lists and maps on the way are made as needed. */
const placed = (value: unknown, [key, ...rest]: string[], inner: Json): unknown => {
  if (key === undefined) return inner
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const next = placed(Object.fromEntries(members)[key], rest, inner)
  const changed = Object.fromEntries([...members, [key, next]])
  return Array.isArray(value) || key === '0' ? Object.values(changed) : changed
}

const change = fc.tuple(
  fc.oneof(
    fc.constantFrom(...places),
    fc.constantFrom(...places).map((place) => `spec.${place}`),
  ),
  odd,
)
const changes = fc.array(change, { minLength: 1, maxLength: 4 })

const collection = fc.constantFrom(...Object.keys(objects))
const nearly = (path: string, edits: [string, Json][], whole: boolean): unknown =>
  edits.reduce<unknown>((object, [place, value]) => placed(object, place.split('.'), value), whole ? objects[path] : {})

const pointer = fc.oneof(
  fc.constantFrom(...places, '', 'a').map((place) => `/${place.replaceAll('.', '/')}`),
  fc.constantFrom('', '/metadata/labels', '/constructor'),
)
const operation = fc.record(
  {
    op: fc.oneof(fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'), odd),
    path: fc.oneof({ weight: 4, arbitrary: pointer }, { weight: 1, arbitrary: odd }),
    from: fc.oneof({ weight: 4, arbitrary: pointer }, { weight: 1, arbitrary: odd }),
    value: odd,
  },
  { requiredKeys: [] },
)

type Step = { method: string; path: string; body: unknown; type: string }

const query = fc.constantFrom(
  ...[
    '',
    '?fieldManager=m',
    '?fieldManager=m&force=true',
    '?dryRun=All',
    '?dryRun=x',
    '?watch=1',
    '?watch=1&resourceVersion=1',
  ],
  ...[
    '?labelSelector=constructor',
    '?labelSelector=a+constructor+b',
    '?fieldSelector=constructor%3Da',
    '?propagationPolicy=x',
  ],
)
const type = fc.oneof(
  fc.constantFrom(...Object.values(TYPES), 'application/json', 'application/yaml'),
  fc.constantFrom('', 'constructor', 'application/vnd.kubernetes.protobuf', 'text/plain'),
)
const suffix = fc.constantFrom('', '/web', '/web', '/web', '/web/status', '/constructor', '/web/x', '/a/b/c', '/%zz')
const path = fc.tuple(collection, suffix, query).map((parts) => parts.join(''))
const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'constructor')

const created: fc.Arbitrary<Step> = fc.tuple(collection, changes, query).map(([at, edits, asked]) => ({
  method: 'POST',
  path: at + asked,
  body: nearly(at, edits, true),
  type: 'application/json',
}))
const put: fc.Arbitrary<Step> = fc.tuple(collection, changes).map(([at, edits]) => ({
  method: 'PUT',
  path: `${at}/web`,
  body: nearly(at, edits, true),
  type: 'application/json',
}))
const patched: fc.Arbitrary<Step> = fc
  .tuple(collection, changes, fc.boolean(), fc.constantFrom(TYPES.merge, TYPES.strategic, TYPES.apply), query)
  .map(([at, edits, whole, kind, asked]) => ({
    method: 'PATCH',
    path: `${at}/web${asked}`,
    body: nearly(at, edits, whole),
    type: kind,
  }))
const operated: fc.Arbitrary<Step> = fc
  .tuple(collection, fc.array(operation, { maxLength: 3 }))
  .map(([at, body]) => ({ method: 'PATCH', path: `${at}/web`, body, type: TYPES.json }))
const deleted: fc.Arbitrary<Step> = fc
  .tuple(
    collection,
    fc.dictionary(fc.constantFrom('kind', 'preconditions', 'dryRun', 'propagationPolicy', 'orphanDependents'), odd),
  )
  .map(([at, body]) => ({ method: 'DELETE', path: `${at}/web`, body, type: 'application/json' }))
const anything: fc.Arbitrary<Step> = fc.record({
  method,
  path: fc.oneof(path, fc.webPath(), fc.string()),
  body: fc.oneof(fc.string(), odd, fc.constantFrom('&a [*a]', '&a {b: *a}', '? {a: b} : c', '!!set {a, b}', '{')),
  type,
})

/** What a real server answers with a 500, too. */
const known = /^failed to create typed patch object|^resourceVersion should not be set on objects to be created$/

const filled = (): Client => {
  const client = createClient()
  for (const [path, object] of Object.entries(objects)) client.post(path, object)
  return client
}

const take = ({ api }: Client, { method, path, body, type }: Step): void => {
  const before = api.objects()
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = api.handle({ method, path, headers: { 'content-type': type }, body: text })
  if (answer.status >= 400) expect(api.objects()).toEqual(before)
  if (answer.status >= 500) expect(JSON.parse(answer.body).message).toMatch(known)
}

test('no request is answered with an error of the server itself, and a refused one changes nothing', () => {
  const step = fc.oneof(created, put, patched, patched, operated, deleted, anything)
  const sequences = fc.array(step, { minLength: 1, maxLength: 8 })
  void fc.assert(
    fc.property(sequences, (steps) => {
      const client = filled()
      for (const step of steps) take(client, step)
      for (const path of Object.keys(objects).slice(0, -2)) expect(client.get(path).status).toBe(200)
    }),
    { numRuns: runs(500) },
  )
})
