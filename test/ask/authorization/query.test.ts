import { describe, expect, test } from 'vitest'
import { bookinfo, createMesh, WAYPOINT } from '../../helpers/mesh.ts'

describe('a question that is not valid is refused, before anything is asked of the API server', () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    [
      'no client',
      { from: undefined },
      'query.from: expected {namespace}/{application}, {namespace}/gateway/{name}, {namespace}/pod/{name} or {namespace}/sa/{ServiceAccount}, each of at most 63',
    ],
    ['no destination', { to: undefined }, 'query.to: expected {namespace}/{application}'],
    ['no port', { port: undefined }, 'query.port: expected a port: an integer from 1 to 65535, got nothing'],
    ['a client without a namespace', { from: 'productpage' }, 'got "productpage"'],
    ['a client of three parts', { from: 'a/b/c' }, 'query.from: expected {namespace}/{application}'],
    ['an account as a destination', { to: 'shop/sa/web' }, 'query.to: expected {namespace}/{application}'],
    ['capital letters', { to: 'shop/Details' }, 'query.to: expected {namespace}/{application}'],
    ['a way out of the path', { to: 'shop/..' }, 'query.to: expected {namespace}/{application}'],
    ['a long name', { to: `shop/${'x'.repeat(64)}` }, 'query.to: expected {namespace}/{application}'],
    ['a port that is 0', { port: '0' }, 'query.port: expected a port: an integer from 1 to 65535, got "0"'],
    ['a port that is too high', { port: '65536' }, 'query.port: expected a port'],
    ['a port that is no integer', { port: '80.5' }, 'query.port: expected a port'],
    ['a port in words', { port: 'http' }, 'query.port: expected a port: an integer from 1 to 65535, got "http"'],
    ['a method in small letters', { method: 'get' }, 'query.method: expected a method, one of CONNECT DELETE GET'],
    ['a path that is none', { path: 'details' }, 'query.path: expected a path: / and at most 1999'],
    ['a path with a space', { path: '/a b' }, 'query.path: expected a path'],
    ['a path that is not ASCII', { path: '/é' }, 'query.path: expected a path'],
    ['a path without end', { path: `/${'x'.repeat(2_000)}` }, 'query.path: expected a path: / and at most 1999'],
    ['an empty host', { host: '' }, 'query.host: expected a host'],
    ['a host with a path', { host: 'details/x' }, 'query.host: expected a host'],
    ['another way', { via: 'ingress' }, 'query.via: expected service or pod, got "ingress"'],
    ['a trust domain with a slash', { trustDomain: 'a/b' }, 'query.trustDomain: expected a trust domain'],
    ['no namespace', { rootNamespace: '' }, 'query.rootNamespace: expected a namespace'],
    ['neither yes nor no', { autoAllowWaypoint: '1' }, 'query.autoAllowWaypoint: expected true or false, got "1"'],
    [
      'a parameter that is not known',
      { verb: 'GET' },
      'query: expected no parameters but from, to, address, port, method, path',
    ],
    ['one that every object has', { constructor: 'x' }, 'query: expected no parameters but from, to'],
    [
      'several at once',
      { port: 'x', method: 'x' },
      'query.port: expected a port: an integer from 1 to 65535, got "x" (and 1 more)',
    ],
  ])('%s', async (_, changes, message) => {
    const mesh = createMesh(bookinfo)
    const answer = await mesh.explain(changes)
    expect(answer).toMatchObject({ status: 400, reason: 'invalid', message: expect.stringContaining(message) })
    expect(mesh.calls).toEqual([])
  })

  test.each([
    ['a parameter that is given twice', '&port=81', 'query: expected each parameter once, got "port" again'],
    ['a parameter called __proto__', '&__proto__=x', 'query: expected no parameters but from, to'],
  ])('%s', async (_, more, message) => {
    const mesh = createMesh(bookinfo)
    const response = await mesh.app.request(`/explain?from=shop/productpage&to=shop/details&port=80${more}`)
    expect([response.status, await response.json()]).toMatchObject([400, { message: expect.stringContaining(message) }])
    expect(mesh.calls).toEqual([])
  })
})

describe('a question about what does not exist has no answer', () => {
  test.each<[string, Record<string, string>, number, string]>([
    [
      'a client that does not exist',
      { from: 'shop/nobody' },
      404,
      'query.from: there is neither a StatefulSet nor a Deployment nor a Gateway shop/nobody',
    ],
    [
      'a Service that does not exist',
      { to: 'shop/nothing' },
      404,
      'query.to: there is no Service shop/nothing; via=pod asks',
    ],
    [
      'pods that do not exist',
      { to: 'shop/nothing', via: 'pod' },
      404,
      'query.to: there is neither a StatefulSet nor a Deployment shop/nothing, nor a Service',
    ],
    ['a namespace that does not exist', { to: 'bank/till' }, 404, 'query.to: there is no Service bank/till'],
    [
      'a waypoint as the destination',
      { to: `shop/${WAYPOINT}` },
      400,
      `that takes traffic from outside, got shop/${WAYPOINT}`,
    ],
  ])('%s', async (_, changes, status, message) => {
    const answer = await createMesh(bookinfo).explain(changes)
    expect(answer).toMatchObject({ status, message: expect.stringContaining(message) })
  })
})

test('another path is not found', async () => {
  const response = await createMesh([]).app.request('/explanation')
  expect([response.status, await response.json()]).toMatchObject([
    404,
    {
      status: 404,
      reason: 'not-found',
      message:
        'GET /explanation: expected POST / or POST /{function}, POST /plan, /traffic or /propose, GET /explain, /lint, /traffic, /propose, /steps, /applications or /applications/{namespace}/{application}',
    },
  ])
})
