import { describe, expect, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import {
  CONFIG_MAPS,
  createClient,
  DEPLOYMENTS,
  POLICIES,
  SERVICES,
  STATEFUL_SETS,
  TYPES,
  workload,
} from '../client.ts'

type Body = Record<string, unknown>

const NAME = `${DEPLOYMENTS}/web`

/** A Deployment whose one container has these fields. */
const containing = (fields: Body): Body =>
  workload('Deployment', {
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'x:1', ...fields }] } },
  })

const typo = containing({ livenesProbe: {} })
const PATH = 'spec.template.spec.containers[name="c"].livenesProbe'

describe('a field that is not declared', () => {
  test('is refused where it is asked to, left out with a warning by default, and left out in silence', () => {
    const api = createEmbeddedApi()
    const post = (query: string) =>
      api.handle({ method: 'POST', path: `${DEPLOYMENTS}?dryRun=All${query}`, headers: {}, body: JSON.stringify(typo) })
    expect(JSON.parse(post('&fieldValidation=Strict').body)).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: `Deployment cannot be read: strict decoding error: unknown field "${PATH}"`,
    })
    const warned = post('')
    expect(warned.headers.warning).toBe(`299 - ${JSON.stringify(`unknown field "${PATH}"`)}`)
    expect(warned.body).not.toContain('livenesProbe')
    expect(post('&fieldValidation=Ignore')).toMatchObject({
      status: 201,
      headers: { 'content-type': 'application/json' },
    })
  })

  test('is never applied', () => {
    const { status, object } = createClient().patch(`${NAME}?fieldManager=m`, 'apply', typo)
    expect([status, object.message]).toEqual([
      500,
      'failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="c"].livenesProbe: field not declared in schema',
    ])
  })

  test.each(['merge', 'json', 'strategic'] as const)(
    'is refused in a strict patch, and left out of another: %s',
    (type) => {
      const client = createClient()
      client.post(DEPLOYMENTS, workload('Deployment'))
      const patch = type === 'json' ? [{ op: 'add', path: '/spec/replica', value: 1 }] : { spec: { replica: 1 } }
      const strict = client.patch(`${NAME}?fieldValidation=Strict`, type, patch)
      expect([strict.status, strict.object.message]).toEqual([
        422,
        expect.stringMatching(/unknown field "spec.replica"$/),
      ])
      expect(client.patch(NAME, type, patch).object.spec).not.toHaveProperty('replica')
    },
  )

  test.each([
    ['a ConfigMap', CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', dat: {} }, '.dat'],
    ['a Service', SERVICES, { apiVersion: 'v1', kind: 'Service', spec: { port: [] } }, '.spec.port'],
    [
      'an AuthorizationPolicy',
      POLICIES,
      { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', spec: { rules: [{ form: [] }] } },
      '.spec.rules[0].form',
    ],
    ['metadata', CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { lables: {} } }, '.metadata.lables'],
  ])('is found in every kind: %s', (_, collection, object, path) => {
    const { object: answer } = createClient().patch(`${collection}/a?fieldManager=m`, 'apply', object)
    expect(answer).toMatchObject({ code: 500, message: expect.stringContaining(`: ${path}: field not declared`) })
  })
})

/** What an apply of each is answered, without what names the object. */
const applied: [name: string, container: Body, why: string][] = [
  ['a text for a list', { command: 'sh' }, 'command: expected list, got "sh"'],
  ['a number for a text', { image: 1 }, 'image: expected string, got 1'],
  ['a text for a truth', { tty: 'yes' }, 'tty: expected boolean, got "yes"'],
  ['a list for a map', { resources: [1] }, 'resources: expected map, got [1]'],
  ['two variables of one name', { env: [{ name: 'A' }, { name: 'A' }] }, 'env: duplicate entries for key [name="A"]'],
  [
    'two equal ports',
    { ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'TCP' }] },
    'ports: duplicate entries for key [containerPort=80,protocol="TCP"]',
  ],
  ['nothing in a list', { env: [null] }, 'env: element 0: a list with keys has maps alone'],
]

test.each(applied)('%s cannot be applied', (_, fields, why) => {
  const { status, object } = createClient().patch(`${NAME}?fieldManager=m`, 'apply', containing(fields))
  expect(status).toBe(500)
  expect(object.message).toMatch(/^failed to create typed patch object \(default\/web; apps\/v1, Kind=Deployment\): /)
  expect(object.message).toContain(why)
})

test('a null takes nothing away that is not there, in whichever field', () => {
  const nulls = containing({ env: null, livenessProbe: null, command: null })
  expect(createClient().patch(`${NAME}?fieldManager=m`, 'apply', nulls).status).toBe(201)
  expect(createClient().post(DEPLOYMENTS, nulls).status).toBe(201)
})

describe('a dry run', () => {
  const verbs: [string, string, unknown, string | undefined][] = [
    ['POST', DEPLOYMENTS, { ...workload('Deployment'), metadata: { name: 'other' } }, undefined],
    ['PUT', NAME, workload('Deployment', { replicas: 3 }), undefined],
    ['PATCH', NAME, { spec: { replicas: 3 } }, TYPES.merge],
    ['PATCH', `${NAME}/scale`, { spec: { replicas: 3 } }, TYPES.merge],
    ['PATCH', `${NAME}/status`, { status: { replicas: 3 } }, TYPES.merge],
    ['DELETE', NAME, undefined, undefined],
  ]
  test.each(verbs)('of %s %s writes nothing, and is refused as the write would be', (method, path, body, type) => {
    const client = createClient()
    client.post(DEPLOYMENTS, workload('Deployment'))
    const before = client.api.objects()
    expect(client.call(method, `${path}?dryRun=All`, body, type).status).toBeLessThan(300)
    expect(client.api.objects()).toEqual(before)
    if (method === 'DELETE') return
    const text = type === undefined ? workload('Deployment', { replicas: 'x' }) : { spec: { replicas: 'x' } }
    const bad = path.endsWith('status') ? { status: { replicas: 'x' } } : text
    expect(client.call(method, `${path}?dryRun=All`, bad, type).status).toBeGreaterThanOrEqual(400)
  })
})

describe('a scale', () => {
  test('is that of its workload, and sets its replicas', () => {
    const client = createClient()
    client.post(STATEFUL_SETS, workload('StatefulSet', { replicas: 2 }))
    const path = `${STATEFUL_SETS}/web/scale`
    const { object } = client.get(path)
    expect(object).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 2, selector: 'app=web' } })
    expect(client.put(path, { ...object, spec: { replicas: 3 } }).object.status.replicas).toBe(3)
    expect(client.put(path, { ...object, spec: { replicas: 4 } }).status).toBe(409)
    expect(client.get(`${STATEFUL_SETS}/web`).object).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 3 },
    })
  })
})

test('a client that asks for a table gets one line for each object', () => {
  const api = createEmbeddedApi()
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' }
  api.handle({ method: 'POST', path: DEPLOYMENTS, headers: {}, body: JSON.stringify(workload('Deployment')) })
  const table = JSON.parse(api.handle({ method: 'GET', path: DEPLOYMENTS, headers }).body)
  expect(table.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual([
    ...['Name', 'Ready', 'Up-to-date', 'Available', 'Age', 'Containers', 'Images', 'Selector'],
  ])
  expect(table.rows[0].cells.toSpliced(4, 1)).toEqual(['web', '1/1', 1, 1, 'c', 'example.invalid/x:1', 'app=web'])
})
