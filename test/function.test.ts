import { describe, expect, test } from 'vitest'
import { readEvent } from '../src/events/cloud-event.ts'
import { createWorld, event, isWrite, meshRelation } from './helpers/world.ts'

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
    ['data that is no object', '/', binary(TYPE, [1]), 400, /data: expected a JSON object, got \[1\]/],
    ['no data', '/', binary(TYPE, ''), 400, /data: expected a JSON object, got nothing/],
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
      binary(TYPE, { ...GOOD, remote: { application: 'beacon', data: { x: 'x'.repeat(1024 * 1024) } } }),
      413,
      /memory of web would have \d+ bytes, at most 786432 fit/,
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
    (status: number, headers: Record<string, string> = {}) =>
    async () => ({ status, headers, body: JSON.stringify({ kind: 'Status', message: `said ${status}` }) })

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
    ['lacks a permission', answer(403), 500, /said 403\. Grant it to the service account/],
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

  test('an invalid object is named with its field', async () => {
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
    const response = await world.post(event('relation-changed', meshRelation()))
    expect([response.status, ((await response.json()) as Reply).message]).toEqual([
      500,
      expect.stringContaining('APPLY Service shop/web: 422 Service "web" is invalid'),
    ])
  })
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

  test('to a structured event is the same', async () => {
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

  test('to OPTIONS is the consent that webhooks ask for', async () => {
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

  test.each([['/health/liveness'], ['/health/readiness']])('to GET %s does not need the API server', async (path) => {
    const world = createWorld()
    expect((await world.app.request(path)).status).toBe(200)
    expect(world.calls).toEqual([])
  })

  test('to any other GET is 404', async () => {
    expect((await createWorld().app.request('/')).status).toBe(404)
  })
})
