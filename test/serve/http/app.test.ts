import { describe, expect, test } from 'vitest'
import { readEvent } from '../../../src/platform/cloudevents/cloud-event.ts'
import { createWorld, event, isWrite, meshRelation } from '../../helpers/world.ts'

type Reply = { status: number; reason: string; message: string }

const binary = (type: string, data: unknown, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: {
    'ce-id': '1',
    'ce-source': '/test',
    'ce-specversion': '1.0',
    'ce-type': type,
    'content-type': 'application/json',
    ...headers,
  },
  body: typeof data === 'string' ? data : JSON.stringify(data),
})

const TYPE = 'dev.meshstep.relation-changed.v1'
const GOOD = { namespace: 'shop', application: 'web', ...meshRelation() }

describe('what is refused, before anything is done', () => {
  const relation = GOOD.relation
  test.each<[string, string, RequestInit, number, RegExp]>([
    [
      'something that is no CloudEvent',
      '/',
      { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } },
      400,
      /specversion|id/,
    ],
    ['an attribute that is missing', '/', binary(TYPE, GOOD, { 'ce-source': '' }), 400, /source/],
    ['an attribute that is wrong', '/', binary(TYPE, GOOD, { 'ce-time': 'yesterday' }), 400, /time/],
    [
      'a type that is not known',
      '/',
      binary('dev.meshstep.nonsense.v1', GOOD),
      400,
      /type: expected dev\.meshstep\.relation-changed\.v1, .* got "dev\.meshstep\.nonsense\.v1"/,
    ],
    [
      'a type of another function',
      '/relation-broken',
      binary(TYPE, GOOD),
      400,
      /type: expected dev\.meshstep\.relation-broken\.v1, got/,
    ],
    [
      'a function that is not known',
      '/nonsense',
      binary(TYPE, GOOD),
      400,
      /nonsense: no such function is served here, but relation-changed/,
    ],
    [
      'a path that is not known',
      '/a/b',
      binary(TYPE, GOOD),
      400,
      /POST \/a\/b: expected POST \/ or POST \/\{function\}/,
    ],
    ['data that is no JSON', '/', binary(TYPE, '{"namespace"'), 400, /JSON/i],
    ['data that is not UTF-8', '/', { ...binary(TYPE, ''), body: new Uint8Array([0x22, 0xff, 0x22]) }, 400, /UTF-8/i],
    ['data that is no object', '/', binary(TYPE, [1]), 400, /data: expected a JSON object, got a list/],
    [
      'no data where there must be some',
      '/',
      binary(TYPE, '', { 'ce-subject': 'shop/web' }),
      400,
      /data\.relation: .*expected object/,
    ],
    [
      'a subject without an application',
      '/',
      binary(TYPE, GOOD, { 'ce-subject': 'shop' }),
      400,
      /subject: expected \{namespace\}\/\{application\}, got "shop"/,
    ],
    ['no namespace', '/', binary(TYPE, { ...GOOD, namespace: undefined }), 400, /data\.namespace: .*expected string/],
    [
      'a namespace that cannot be',
      '/',
      binary(TYPE, { ...GOOD, namespace: 'Shop' }),
      400,
      /data\.namespace: expected a namespace.*got "Shop"/,
    ],
    ['an application with a slash', '/', binary(TYPE, { ...GOOD, application: '../x' }), 400, /data\.application/],
    [
      'a subject that does not agree',
      '/',
      binary(TYPE, GOOD, { 'ce-subject': 'shop/other' }),
      400,
      /subject: "shop\/other" does not agree with the data, shop\/web/,
    ],
    [
      'a subject of another form',
      '/',
      binary(TYPE, GOOD, { 'ce-subject': 'a/b/c' }),
      400,
      /subject: expected \{namespace\}\/\{application\}/,
    ],
    [
      'a field of the wrong type',
      '/',
      binary(TYPE, { ...GOOD, relation: { ...relation, id: '7' } }),
      400,
      /data\.relation\.id: .*expected number.*got "7"/,
    ],
    [
      'a role that is not known',
      '/',
      binary(TYPE, { ...GOOD, relation: { ...relation, role: 'uses' } }),
      400,
      /data\.relation\.role.*got "uses"/,
    ],
    ['a field that is not known', '/', binary(TYPE, { ...GOOD, remotes: {} }), 400, /remotes/],
    [
      'config that is not known',
      '/',
      binary('dev.meshstep.config-changed.v1', {
        namespace: 'shop',
        application: 'web',
        config: { enrollment: 'in-place' },
      }),
      400,
      /data\.config.*enrollment/,
    ],
    [
      'a batch',
      '/',
      { ...binary(TYPE, '[]'), headers: { 'content-type': 'application/cloudevents-batch+json' } },
      415,
      /batch/,
    ],
    [
      'another structured format',
      '/',
      { ...binary(TYPE, ''), headers: { 'content-type': 'application/cloudevents+xml' } },
      415,
      /xml/,
    ],
    [
      'a body that is too large',
      '/',
      binary(TYPE, `"${'x'.repeat(2 * 1024 * 1024)}"`),
      413,
      /larger than 2097152 bytes/,
    ],
    [
      'a namespace that does not exist',
      '/',
      binary(TYPE, { ...GOOD, namespace: 'nowhere' }),
      400,
      /Namespace nowhere does not exist/,
    ],
    [
      'more than a memory holds',
      '/',
      binary('dev.meshstep.config-changed.v1', {
        namespace: 'shop',
        application: 'web',
        config: { labels: { x: 'x'.repeat(1024 * 1024) } },
      }),
      413,
      /memory of web would have \d+ bytes, at most 983040 fit/,
    ],
  ])('%s', async (_, path, init, status, message) => {
    const world = createWorld()
    const response = await world.app.request(path, init)
    const body = await response.text()
    expect(response.status).toBe(status)
    expect((JSON.parse(body) as Reply).message).toMatch(message)
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(768)
    expect(world.calls.filter((call) => isWrite(call) && !call.includes('/namespaces/nowhere/'))).toEqual([])
  })

  test('a message of any length is cut to 768 bytes of valid JSON', async () => {
    const world = createWorld()
    for (const text of ['x', '🔥', '"', 'ü']) {
      const response = await world.app.request(
        '/',
        binary(TYPE, {
          ...GOOD,
          ...Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`${text.repeat(40)}${index}`, 1])),
        }),
      )
      const body = new Uint8Array(await response.arrayBuffer())
      expect(body.length).toBeLessThanOrEqual(768)
      expect(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))).toMatchObject({ status: 400 })
    }
  })
})

describe('an API server that does not do its part', () => {
  const answer =
    (status: number, headers: Record<string, string> = {}, message = `said ${status}`) =>
    async () => ({ status, headers, body: JSON.stringify({ kind: 'Status', message }) })

  test.each<[string, (() => Promise<never>) | ReturnType<typeof answer>, number, RegExp]>([
    [
      'is away',
      async () => Promise.reject(new Error('connect ECONNREFUSED')),
      503,
      /GET ConfigMap shop\/.* did not answer \(connect ECONNREFUSED\)/,
    ],
    ['is too busy', answer(429, { 'retry-after': '30' }), 503, /GET ConfigMap .*said 429/],
    ['fails', answer(500), 503, /said 500/],
    ['is behind a gateway that fails', answer(502), 503, /502/],
    ['refuses the token', answer(401), 500, /said 401\. The token of the service account/],
    [
      'lacks a permission',
      answer(403, {}, 'User "meshstep" cannot get resource "configmaps"'),
      500,
      /cannot get resource "configmaps"\. Grant it with a Role/,
    ],
    ['refuses for another reason', answer(403, {}, 'exceeded quota'), 500, /403 exceeded quota\. Raise the quota/],
    [
      'is behind a proxy that refuses',
      async () => ({ status: 403, headers: {}, body: '<html>403' }),
      500,
      /403 <html>403\. A proxy before the API server/,
    ],
    ['forbids it', answer(403, {}, 'violates PodSecurity'), 500, /403 violates PodSecurity\. Change what forbids it/],
    ['says something unexpected', answer(418), 500, /said 418/],
  ])('%s', async (_, intercept, status, message) => {
    const world = createWorld()
    world.intercept = intercept
    const response = await world.post(event('relation-changed', meshRelation()))
    expect(response.status).toBe(status)
    expect(((await response.json()) as Reply).message).toMatch(message)
    if (status === 503) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test.each([
    ['null', 'null'],
    ['nothing', ''],
    ['an empty object', '{}'],
    ['a page', '<html>sign in</html>'],
    ['another kind', '{"kind":"Pod","metadata":{}}'],
  ])('%s where an object should be is never taken for one without content', async (_, body) => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    const before = world.labels()
    world.intercept = async ({ path }) => (path.includes('configmaps') ? { status: 200, headers: {}, body } : undefined)
    const response = await world.post(event('pod-restarted', { pod: { name: 'web-0', uid: 'u' } }))
    expect([response.status, ((await response.json()) as Reply).message]).toEqual([
      503,
      expect.stringContaining(
        'GET ConfigMap shop/juju-service-mesh-web-labels: the API server answered something that is not a ConfigMap',
      ),
    ])
    expect(world.labels()).toEqual(before)
  })

  test('a list without items is no empty list', async () => {
    const world = createWorld()
    world.intercept = async ({ path }) =>
      path.includes('/pods?') ? { status: 200, headers: {}, body: '{"kind":"PodList"}' } : undefined
    expect((await world.post(event('resync', { application: undefined }))).status).toBe(503)
  })

  test('Retry-After is handed on when it is later than we wait', async () => {
    const world = createWorld()
    world.intercept = answer(429, { 'retry-after': '30' })
    expect((await world.post(event('relation-changed', meshRelation()))).headers.get('retry-after')).toBe('30')
  })

  test.each([[429], [500], [503]])('a passing %i is waited out', async (status) => {
    const world = createWorld()
    let failures = 3
    world.intercept = () => (failures-- > 0 ? { status, headers: {}, body: '' } : undefined)
    expect((await world.send('relation-changed', meshRelation())).status).toBe('changed')
  })

  test('a race that is always lost ends, with 503', async () => {
    const world = createWorld()
    await world.send('relation-changed', meshRelation())
    world.intercept = ({ method }) =>
      method === 'PUT' ? { status: 409, headers: {}, body: '{"reason":"Conflict"}' } : undefined
    const response = await world.post(event('relation-changed', meshRelation({})))
    expect([response.status, ((await response.json()) as Reply).message]).toEqual([
      503,
      expect.stringContaining('shop/web is being written by others'),
    ])
  })

  test('an object that is not valid is named with its field, and what rests on it waits', async () => {
    const world = createWorld()
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('services')
        ? {
            status: 422,
            headers: {},
            body: JSON.stringify({
              message: 'Service "web" is invalid: metadata.labels',
              details: { causes: [{ field: 'metadata.labels', reason: 'FieldValueInvalid' }] },
            }),
          }
        : undefined
    expect(await world.send('relation-changed', meshRelation())).toMatchObject({
      status: 'waiting',
      messages: [
        expect.stringContaining('APPLY Service shop/web: 422 Service "web" is invalid: metadata.labels'),
        'the labels of StatefulSet shop/web wait for Service shop/web',
      ],
    })
    expect(world.labels().template).not.toHaveProperty('istio.io/dataplane-mode')
  })
})

describe('hostile data', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['a hundred levels of it', { remote: { application: 'beacon', data: nested(100) } }, /at most 64 levels/],
    ['a namespace that is no string', { namespace: { toString: 1, valueOf: 1 } }, /does not agree|data\.namespace/],
    ['a relation id beyond integers', { relation: { ...GOOD.relation, id: 1e21 } }, /data\.relation\.id/],
  ])('%s is refused', async (_, changes, message) => {
    const response = await createWorld().app.request(
      '/',
      binary(TYPE, { ...GOOD, ...changes }, { 'ce-subject': 'shop/web' }),
    )
    expect([response.status, ((await response.json()) as Reply).message]).toEqual([400, expect.stringMatching(message)])
  })

  test('a source called constructor is a source, and takes nobody along', async () => {
    const world = createWorld()
    const time = '2026-01-01T00:00:00Z'
    await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': '1' }), { source: '/x', time })
    expect(
      (
        await world.send('relation-changed', meshRelation({ 'istio.io/use-waypoint': '2' }), {
          source: 'constructor',
          time,
        })
      ).status,
    ).toBe('changed')
  })

  test('ten thousand bad labels do not make a long answer', async () => {
    const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`bad key ${index}`, '1']))
    const { messages } = await createWorld().send('relation-changed', meshRelation(labels))
    expect([messages.length, messages.at(-1)]).toEqual([21, 'and 9980 more messages'])
  })

  test('a tracestate of unreasonable length is not handed on', async () => {
    const response = await createWorld().app.request(
      '/',
      binary(TYPE, GOOD, { 'ce-tracestate': 'x'.repeat(513), 'ce-traceparent': '00-a-b-01' }),
    )
    expect([response.headers.get('ce-tracestate'), response.headers.get('ce-traceparent')]).toEqual([null, '00-a-b-01'])
  })

  test('numbers that JSON does not have are the same the second time', async () => {
    const world = createWorld()
    const body = `{"namespace":"shop","application":"web","relation":${JSON.stringify(GOOD.relation)},"remote":{"application":"beacon","data":{"x":-0,"y":1e400}}}`
    for (const _ of ['first', 'second']) await world.app.request('/', binary(TYPE, body))
    world.calls.length = 0
    await world.app.request('/', binary(TYPE, body))
    expect(world.calls.filter(isWrite)).toEqual([])
  })
})

test.each([
  ['application-removed', 'shop/web'],
  ['resync', 'shop/web'],
  ['resync', 'shop'],
])('%s needs no data beside its subject %s', async (name, subject) => {
  const response = await createWorld().app.request(
    '/',
    binary(`dev.meshstep.${name}.v1`, '', { 'ce-subject': subject }),
  )
  expect(response.status).toBe(200)
})

describe('the answer', () => {
  test.each([['/'], ['/relation-changed']])('of POST %s is a valid CloudEvent with the outcome', async (path) => {
    const response = await createWorld().app.request(path, binary(TYPE, GOOD, { 'ce-traceparent': '00-abc-def-01' }))
    const reply = readEvent({
      headers: Object.fromEntries(response.headers),
      body: new Uint8Array(await response.arrayBuffer()),
    })
    expect(response.status).toBe(200)
    expect(reply).toMatchObject({
      type: 'dev.meshstep.reconciled.v1',
      source: '/meshstep/relation-changed',
      subject: 'shop/web',
      time: expect.any(String),
      extensions: { partitionkey: 'shop/web', traceparent: '00-abc-def-01' },
      data: { namespace: 'shop', application: 'web', status: 'changed' },
    })
  })

  test('the answer to a structured event is the same', async () => {
    const world = createWorld()
    const body = JSON.stringify({
      specversion: '1.0',
      id: '1',
      source: '/test',
      type: TYPE,
      subject: 'shop/web',
      data: meshRelation(),
    })
    const response = await world.app.request('/', {
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' },
      body,
    })
    expect(await response.json()).toMatchObject({ status: 'changed', application: 'web' })
  })

  test('the answer to OPTIONS is the consent that webhooks ask for', async () => {
    for (const path of ['/', '/relation-changed']) {
      const response = await createWorld().app.request(path, {
        method: 'OPTIONS',
        headers: { 'webhook-request-origin': 'eventemitter.example.com' },
      })
      expect(response.status).toBe(200)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        allow: 'OPTIONS, POST',
        'webhook-allowed-origin': 'eventemitter.example.com',
        'webhook-allowed-rate': '*',
      })
    }
  })

  test.each([['/health/liveness'], ['/health/readiness']])(
    'the answer to GET %s does not need the API server',
    async (path) => {
      const world = createWorld()
      expect((await world.app.request(path)).status).toBe(200)
      expect(world.calls).toEqual([])
    },
  )

  test('the answer to any other GET is 404', async () => {
    expect((await createWorld().app.request('/')).status).toBe(404)
  })
})
