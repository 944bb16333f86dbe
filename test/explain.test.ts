import { describe, expect, test } from 'vitest'
import { createAuthenticate } from '../src/authorize.ts'
import { createEmbeddedApi } from '../src/embedded/api.ts'
import { createExplain } from '../src/explain.ts'
import { createKubernetes } from '../src/kubernetes/client.ts'
import type { KubernetesObject } from '../src/kubernetes/objects.ts'
import { authorizationPolicies } from '../src/policies/grant.ts'
import { externalTraffic, hardenedMode, ingressToBackend } from '../src/policies/static.ts'
import { fakeClock } from './helpers/clock.ts'
import { application, bookinfo, createMesh, WAYPOINT } from './helpers/mesh.ts'
import { isWrite } from './helpers/world.ts'
import { custom, detailsPolicy, hardened, managed, pods, service } from './policies/bookinfo.ts'
import { endpoint, meshPolicy, owner, request } from './policies/samples.ts'

const NAME = `shop/${managed[0]?.metadata.name}`
const ASKED = 'relation 3 (service-mesh) of shop/details'
const NEAREST = `the nearest is ${NAME} (asked for by ${ASKED})`

describe('what happens on the mesh, as the beacon and Istio make it', () => {
  const both = [...managed, ...hardened]
  const metrics = authorizationPolicies(
    [
      request(
        meshPolicy({
          source_app_name: 'productpage',
          target_app_name: 'details',
          target_type: 'unit',
          endpoints: [endpoint({ ports: [9090] })],
        }),
        'relation 4 (metrics-endpoint) of shop/details',
      ),
    ],
    { ...owner, prefix: 'metrics' },
  )
  const scrape = { via: 'pod', port: '9090', method: undefined, path: undefined }

  test.each<[string, readonly KubernetesObject[], Record<string, string | undefined>, boolean, string[]]>([
    [
      'an allowed request',
      managed,
      {},
      true,
      [`the waypoint shop/${WAYPOINT} lets it through for policy ${NAME} (asked for by ${ASKED})`],
    ],
    ['an allowed path', both, { path: '/health' }, true, [NAME]],
    ...['POST', 'PUT', 'DELETE'].map(
      (method): [string, readonly KubernetesObject[], Record<string, string>, boolean, string[]] => [
        `${method} where only GET is allowed`,
        managed,
        { method },
        false,
        ['answers 403', NEAREST, `method ${method} is not GET`],
      ],
    ),
    [
      'a path outside the list',
      managed,
      { path: '/admin' },
      false,
      ['answers 403', NEAREST, 'path /admin is not /details/* or /health'],
    ],
    ['a port outside the policy', managed, { port: '8080' }, false, ['answers 403', NEAREST, 'port 8080 is not 9080']],
    [
      'another client',
      managed,
      { from: 'shop/reviews' },
      false,
      ['answers 403', NEAREST, 'source cluster.local/ns/shop/sa/reviews is not cluster.local/ns/shop/sa/productpage'],
    ],
    ['no policy', [], {}, true, ['no ALLOW policy applies and no DENY policy matches']],
    ['an application that nobody asked to reach', managed, { to: 'shop/reviews' }, true, ['no ALLOW policy applies']],
    [
      'the same, hardened',
      both,
      { to: 'shop/reviews' },
      false,
      ['answers 403', 'istio-system/istio-shop-policy-global-allow-nothing-waypoint: it has no rules'],
    ],
    [
      'hardened without policies',
      hardened,
      {},
      false,
      ['answers 403', 'global-allow-nothing-waypoint: it has no rules, and so allows nothing'],
    ],
    [
      'hardened, where istiod does not let waypoints through by itself',
      both,
      { autoAllowWaypoint: 'false' },
      false,
      ['does not let the waypoint through, which answers 503', 'global-allow-nothing-ztunnel'],
    ],
    [
      'a pod, by a unit policy',
      [...both, ...metrics],
      scrape,
      true,
      ['the ztunnel of shop/details lets it through', 'relation 4 (metrics-endpoint)'],
    ],
    [
      'a pod, on another port',
      [...both, ...metrics],
      { ...scrape, port: '9091' },
      false,
      ['the ztunnel of shop/details resets the connection', 'port 9091 is not 9090'],
    ],
    [
      'a pod, past its waypoint',
      managed,
      { via: 'pod' },
      false,
      ['resets the connection', `istio_allow_waypoint_shop_${WAYPOINT}`],
    ],
  ])('%s', async (_, policies, changes, allowed, because) => {
    const mesh = createMesh([...bookinfo, ...policies])
    const answer = await mesh.explain(changes)
    expect(answer).toMatchObject({ status: 200, allowed, decided: true })
    for (const part of because) expect(answer.sentence).toContain(part)
    expect(answer.sentence).toContain(allowed ? ' may ' : ' may not ')
    expect(answer.sentence).toMatch(/^[^\n]+\.$/)
  })

  test('a policy by hand that denies outweighs one that allows; an external authorizer leaves it open', async () => {
    const deny = custom('deny', { ...service('details'), action: 'DENY', rules: [{}] })
    expect(await createMesh([...bookinfo, ...managed, deny]).explain()).toMatchObject({
      allowed: false,
      policy: 'shop/deny',
    })
    const ask = custom('ask', { ...deny.spec, action: 'CUSTOM', provider: { name: 'oidc' } })
    expect(await createMesh([...bookinfo, ...managed, deny, ask]).explain()).toMatchObject({
      allowed: false,
      decided: false,
    })
  })

  test('a path in a template', async () => {
    const policy = { ...detailsPolicy, endpoints: [endpoint({ paths: ['/v1/{*}/items/{**}'] })] }
    const mesh = createMesh([...bookinfo, ...authorizationPolicies([request(policy)], owner)])
    expect(await mesh.explain({ path: '/v1/a/items/b/c' })).toMatchObject({ allowed: true })
    expect(await mesh.explain({ path: '/v1/a/b/items/c' })).toMatchObject({ allowed: false })
  })

  test('the ingress works in hardened mode: its gateway goes to the pods, past the waypoint', async () => {
    const ingress = { namespace: 'shop', application: 'ingress', labels: {} }
    const proxies = application('ingress-istio', {
      kind: 'Deployment',
      labels: { 'gateway.networking.k8s.io/gateway-name': 'ingress' },
      podSpec: { serviceAccountName: 'ingress-istio' },
    })
    const policies = [
      ...hardenedMode({ ...ingress, application: 'istio' }, 'istio-system'),
      externalTraffic(ingress, { gateway: 'ingress', cidrs: ['0.0.0.0/0'] }),
      ...ingressToBackend(ingress, { namespace: 'shop', application: 'details', ports: [9080] }, 'cluster.local'),
    ]
    const mesh = createMesh([...bookinfo, ...proxies, ...policies])
    const asked = { from: 'shop/ingress-istio' }
    expect(await mesh.explain(asked)).toMatchObject({
      allowed: true,
      at: 'ztunnel',
      policy: 'shop/details-ingress-shop-l4',
    })
    expect(await mesh.explain({ ...asked, port: '8080' })).toMatchObject({ allowed: false, at: 'ztunnel' })
    expect(await mesh.explain({ ...asked, to: 'shop/reviews' })).toMatchObject({ allowed: false, at: 'ztunnel' })
    mesh.api.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/shop/services/details',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { 'istio.io/ingress-use-waypoint': 'true' } } }),
    })
    expect(await mesh.explain(asked)).toMatchObject({ allowed: false, at: 'waypoint' })
  })
})

describe('the answer', () => {
  test('echoes the question with its defaults, and names policy, relation and every step', async () => {
    const answer = await createMesh([...bookinfo, ...managed]).explain({ method: 'POST', host: 'details.shop:9080' })
    expect(answer).toEqual({
      status: 200,
      allowed: false,
      decided: true,
      at: 'waypoint',
      policy: NAME,
      relations: [ASKED],
      sentence: expect.stringMatching(
        /^shop\/productpage may not send POST \/details\/0 with host details\.shop:9080 to/,
      ),
      steps: [{ at: 'waypoint', policy: NAME, action: 'ALLOW', matches: 'no', note: 'method POST is not GET' }],
      request: {
        from: 'shop/productpage',
        to: 'shop/details',
        port: 9080,
        method: 'POST',
        path: '/details/0',
        host: 'details.shop:9080',
        via: 'service',
        trustDomain: 'cluster.local',
        rootNamespace: 'istio-system',
        autoAllowWaypoint: true,
      },
    })
  })

  test('depends on the trust domain and the root namespace', async () => {
    const mesh = createMesh([...bookinfo, ...managed])
    expect(await mesh.explain({ trustDomain: 'example.org' })).toMatchObject({ allowed: false })
    const closed = hardenedMode({ ...owner, application: 'istio' }, 'mesh')
    const other = createMesh([...bookinfo, ...closed])
    expect(await other.explain()).toMatchObject({ allowed: true })
    expect(await other.explain({ rootNamespace: 'mesh' })).toMatchObject({ allowed: false })
  })

  test('comes after nine calls, none of which writes', async () => {
    const mesh = createMesh([...bookinfo, ...managed])
    await mesh.explain()
    expect(mesh.calls).toHaveLength(9)
    expect(mesh.calls.filter(isWrite)).toEqual([])
  })

  test('is JSON', async () => {
    const query = 'from=shop/productpage&to=shop/details&port=9080'
    const response = await createMesh(bookinfo).app.request(`/explain?${query}`)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject({ allowed: true, sentence: expect.stringContaining('may connect to') })
  })
})

describe('what cannot be known', () => {
  const odd = (spec: object, namespace = 'shop'): KubernetesObject => ({
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: 'odd', namespace },
    spec: { ...spec },
  })

  test.each<[string, KubernetesObject, boolean]>([
    ['at the Service', odd({ ...service('details'), rules: [{ planets: ['mars'] }] }), false],
    ['at the pods', odd({ ...pods('details'), rules: [{ planets: ['mars'] }] }), false],
    ['anywhere', odd({ sites: ['mars'] }), false],
    ['anywhere on the mesh', odd({ sites: ['mars'] }, 'istio-system'), false],
    ['somewhere else', odd({ ...service('reviews'), rules: [{ planets: ['mars'] }] }), true],
    ['in another namespace', odd({ sites: ['mars'] }, 'bank'), true],
  ])('a policy that cannot be read never makes a yes: %s', async (_, policy, decided) => {
    const answer = await createMesh([...bookinfo, ...managed, policy]).explain()
    expect(answer).toMatchObject({ status: 200, allowed: decided, decided })
    expect(answer.sentence.includes(`AuthorizationPolicy ${policy.metadata.namespace}/odd: spec`)).toBe(!decided)
  })

  test.each([
    [
      'AuthorizationPolicies',
      'authorizationpolicies',
      'the cluster has no AuthorizationPolicies: Istio is not installed',
    ],
    ['Gateways', 'gateways', 'the cluster has no Gateways, and so no waypoints'],
  ])('a cluster that does not know %s has none', async (_, plural, note) => {
    const mesh = createMesh([...bookinfo, ...managed])
    mesh.intercept = ({ path }) =>
      path.endsWith(`/${plural}`) ? { status: 404, headers: {}, body: '404 page not found\n' } : undefined
    const answer = await mesh.explain({ method: 'POST' })
    expect(answer).toMatchObject({ status: 200, allowed: true })
    expect(answer.steps[0]).toEqual({ at: 'destination', note })
  })

  test.each([
    ['is away', { status: 503, headers: {}, body: '' }, 503, 'LIST AuthorizationPolicy'],
    [
      'does not let it look',
      {
        status: 403,
        headers: {},
        body: JSON.stringify({ reason: 'Forbidden', message: 'meshstep cannot list resource "authorizationpolicies"' }),
      },
      500,
      'cannot list resource "authorizationpolicies". Grant it with a Role',
    ],
  ])('an API server that %s gives no answer, rather than an open one', async (_, refusal, status, message) => {
    const mesh = createMesh([...bookinfo, ...managed])
    mesh.intercept = ({ path }) => (path.endsWith('/authorizationpolicies') ? refusal : undefined)
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ status, message: expect.stringContaining(message) })
    expect(answer).not.toHaveProperty('allowed')
  })
})

describe('who may ask', () => {
  const explainAs = async (authorization: string | undefined, to = 'shop/details') => {
    const clock = fakeClock()
    const api = createEmbeddedApi({
      tokens: { good: 'somebody' },
      audiences: ['meshstep'],
      allows: (_, { name, namespace }) => namespace === 'shop' && name === 'details',
    })
    api.seed(bookinfo)
    const connect = (deadline: number) =>
      createKubernetes({ transport: async (asked) => api.handle(asked), clock, deadline })
    const authenticate = createAuthenticate({ audience: 'meshstep', clock })
    const explain = createExplain({ connect, authenticate, clock, timeoutMilliseconds: 1_000 })
    return await explain(new URLSearchParams({ from: 'shop/productpage', to, port: '9080' }), authorization)
  }

  test.each([
    ['without a token', undefined, 'shop/details', 401],
    ['with a token that is not known', 'Bearer bad', 'shop/details', 401],
    ['about an application that the sender may not send events for', 'Bearer good', 'shop/reviews', 403],
    ['about nothing, by somebody who may not know that', 'Bearer good', 'shop/nothing', 403],
  ])('is not somebody %s', async (_, authorization, to, status) => {
    await expect(explainAs(authorization, to)).rejects.toMatchObject({ name: 'Refused', status })
  })

  test('is who may send events about the destination', async () => {
    expect(await explainAs('Bearer good')).toMatchObject({ request: { to: 'shop/details' } })
  })
})
