import { describe, expect, test } from 'vitest'
import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import { features } from '../../../src/features.ts'
import {
  externalAuthorizer,
  externalTraffic,
  hardenedMode,
  ingressToBackend,
} from '../../../src/mesh/istio/beacon-policies.ts'
import { authorizationPolicies } from '../../../src/mesh/istio/grant.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createExplain } from '../../../src/serve/http/explain.ts'
import { requires } from '../../helpers/beacon-world.ts'
import { fakeClock } from '../../helpers/clock.ts'
import { application, bookinfo, createMesh, WAYPOINT, waypoint } from '../../helpers/mesh.ts'
import { isWrite } from '../../helpers/world.ts'
import { custom, detailsPolicy, hardened, managed, pods, service } from '../../mesh/istio/bookinfo.ts'
import { endpoint, meshPolicy, owner, request } from '../../mesh/istio/samples.ts'

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
    ['an allowed path', both, { path: '/health', autoAllowWaypoint: 'true' }, true, [NAME]],
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
      [
        'answers 403',
        'istio-system/istio-shop-policy-global-allow-nothing-waypoint (asked for by config of shop/istio): it has no rules',
      ],
    ],
    [
      'hardened without policies',
      hardened,
      {},
      false,
      [
        'answers 403',
        'global-allow-nothing-waypoint (asked for by config of shop/istio): it has no rules, and so allows nothing',
      ],
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
      { via: 'pod', autoAllowWaypoint: 'true' },
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

  test('a port outside the policy', async () => {
    const ports = [9080, 8080].map((port) => ({ name: `p-${port}`, port }))
    const others = bookinfo.filter(({ metadata }) => metadata.name !== 'details')
    const mesh = createMesh([...others, ...application('details', { serviceSpec: { ports } }), ...managed])
    const answer = await mesh.explain({ port: '8080' })
    expect(answer).toMatchObject({ allowed: false, decided: true })
    for (const part of ['answers 403', NEAREST, 'port 8080 is not 9080']) expect(answer.sentence).toContain(part)
  })

  test('a policy by hand that denies outweighs one that allows; an external authorizer leaves it open', async () => {
    const deny = custom('deny', { ...service('details'), action: 'DENY', rules: [{}] })
    expect(await createMesh([...bookinfo, ...managed, deny]).explain()).toMatchObject({
      allowed: false,
      policy: 'shop/deny',
    })
    const ask = custom('ask', { ...deny.spec, action: 'CUSTOM', provider: { name: 'oidc' } })
    expect(await createMesh([...bookinfo, ...managed, ask]).explain()).toMatchObject({
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
  test('the answer echoes the question with its defaults, and names policy, relation and every step', async () => {
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
      },
    })
  })

  test('the answer depends on the trust domain and the root namespace', async () => {
    const mesh = createMesh([...bookinfo, ...managed])
    // a waypoint takes cluster.local for whatever the own trust domain is called, and a ztunnel does not
    expect(await mesh.explain({ trustDomain: 'example.org' })).toMatchObject({ allowed: true })
    const principals = ['cluster.local/ns/shop/sa/productpage']
    const allow = custom('allow', { ...pods('details'), rules: [{ from: [{ source: { principals } }] }] })
    const guarded = createMesh([...bookinfo, allow])
    const straight = { via: 'pod', autoAllowWaypoint: 'false' }
    expect(await guarded.explain(straight)).toMatchObject({ allowed: true })
    expect(await guarded.explain({ ...straight, trustDomain: 'example.org' })).toMatchObject({ allowed: false })
    const closed = hardenedMode({ ...owner, application: 'istio' }, 'mesh')
    const other = createMesh([...bookinfo, ...closed])
    expect(await other.explain()).toMatchObject({ allowed: true })
    expect(await other.explain({ rootNamespace: 'mesh' })).toMatchObject({ allowed: false })
  })

  test('the answer comes after sixteen calls, none of which writes', async () => {
    const mesh = createMesh([...bookinfo, ...managed])
    await mesh.explain()
    expect(mesh.calls).toHaveLength(16)
    expect(mesh.calls.filter(isWrite)).toEqual([])
  })

  test('the answer is JSON', async () => {
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
      path.includes(`/${plural}?`) ? { status: 404, headers: {}, body: '404 page not found\n' } : undefined
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
    mesh.intercept = ({ path }) => (path.includes('/authorizationpolicies?') ? refusal : undefined)
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ status, message: expect.stringContaining(message) })
    expect(answer).not.toHaveProperty('allowed')
  })
})

describe('who may ask', () => {
  const explainAs = async (
    authorization: string | undefined,
    to = 'shop/details',
    allowed = ['details', 'productpage', 'authorizationpolicies'],
    objects: readonly KubernetesObject[] = bookinfo,
  ) => {
    const clock = fakeClock()
    const api = createEmbeddedApi({
      tokens: { good: 'somebody' },
      audiences: ['meshstep'],
      allows: (_, { name = '', namespace, resource = '' }) =>
        namespace === 'shop' && (allowed.includes(name) || allowed.includes(resource)),
    })
    api.seed(objects)
    const connect = (deadline: number) =>
      createKubernetes({ transport: async (asked) => api.handle(asked), clock, deadline })
    const authenticate = createAuthenticate({ audience: 'meshstep', clock })
    const explain = createExplain({ features, connect, authenticate, clock, timeoutMilliseconds: 1_000 })
    return await explain(new URLSearchParams({ from: 'shop/productpage', to, port: '9080' }), authorization)
  }

  test.each([
    ['without a token', undefined, 'shop/details', 401],
    ['with a token that is not known', 'Bearer bad', 'shop/details', 401],
    ['about an application that the sender may not send events for', 'Bearer good', 'shop/reviews', 403],
    ['about nothing, by somebody who may not know that', 'Bearer good', 'shop/nothing', 403],
  ])('an answer is not for somebody %s', async (_, authorization, to, status) => {
    await expect(explainAs(authorization, to)).rejects.toMatchObject({ name: 'Refused', status })
  })

  test('an answer is not for somebody who may send events about one side alone', async () => {
    for (const side of ['details', 'productpage'])
      await expect(explainAs('Bearer good', undefined, [side])).rejects.toMatchObject({ status: 403 })
  })

  test('an answer is for somebody who may send events about both sides', async () => {
    expect(await explainAs('Bearer good')).toMatchObject({ request: { to: 'shop/details' } })
  })

  test('an answer tells nothing of policies in a namespace whose policies the sender may not read, but that they have a say', async () => {
    const deny = custom('secret-name', { ...pods('details'), action: 'DENY', rules: [{}] })
    const enrolled = application('details', { labels: { 'istio.io/dataplane-mode': 'ambient' } })
    const objects = [...enrolled, ...bookinfo.filter(({ metadata }) => metadata.name !== 'details'), deny]
    const all = await explainAs('Bearer good', undefined, undefined, objects)
    expect(all).toMatchObject({ allowed: false, sentence: expect.stringContaining('secret-name') })
    const some = await explainAs('Bearer good', undefined, ['details', 'productpage'], objects)
    expect(some).toMatchObject({ allowed: false, sentence: expect.stringContaining('may not read') })
    expect(JSON.stringify(some)).not.toContain('secret-name')
  })
})

describe('what decides besides policies', () => {
  const AMBIENT = { 'istio.io/dataplane-mode': 'ambient' }
  const principals = ['cluster.local/ns/shop/sa/productpage']
  const onlyProductpage = custom('only', { ...pods('details'), rules: [{ from: [{ source: { principals } }] }] })
  const straight = { via: 'pod', autoAllowWaypoint: 'false' }
  const client = (labels: Record<string, string>, podSpec: Record<string, unknown> = {}) =>
    application('productpage', { labels, podSpec })
  const details = application('details', { labels: AMBIENT })

  test('pods without a ServiceAccount run as default', async () => {
    const named = createMesh([...details, ...client(AMBIENT), onlyProductpage])
    expect(await named.explain(straight)).toMatchObject({ allowed: true })
    const unnamed = createMesh([...details, ...client(AMBIENT, { serviceAccountName: undefined }), onlyProductpage])
    const answer = await unnamed.explain(straight)
    expect(answer).toMatchObject({ allowed: false, decided: true })
    expect(answer.sentence).toContain('shop/default may not')
  })

  test.each([
    ['by its name', { name: 'tcp-details' }],
    ['by its appProtocol', { name: 'http', appProtocol: 'tcp' }],
    ['as it is encrypted', { name: 'https' }],
    ['as its server speaks first', { port: 3306 }],
  ])('on a port that carries TCP %s, a waypoint sees no HTTP', async (_, changes) => {
    const port = { port: 9080, ...changes }
    const destination = application('details', { serviceSpec: { ports: [port] } })
    const open = custom('open', { ...service('details'), rules: [{ to: [{ operation: { methods: ['GET'] } }] }] })
    const mesh = createMesh([...destination, ...application('productpage'), waypoint(), open])
    const answer = await mesh.explain({ port: `${port.port}` })
    expect(answer).toMatchObject({ allowed: false, decided: true, at: 'waypoint' })
    expect(answer.sentence).toContain('its methods cannot be seen on a port that carries TCP')
  })

  test.each([
    ['http-web', undefined, true],
    ['web', 'kubernetes.io/h2c', true],
    ['grpc-web', undefined, true],
    ['web', undefined, true],
  ])('on a port named %s with the appProtocol %s it sees HTTP: %s', async (name, appProtocol, allowed) => {
    const destination = application('details', { serviceSpec: { ports: [{ port: 9080, name, appProtocol }] } })
    const open = custom('open', { ...service('details'), rules: [{ to: [{ operation: { methods: ['GET'] } }] }] })
    const mesh = createMesh([...destination, ...application('productpage'), waypoint(), open])
    expect(await mesh.explain()).toMatchObject({ allowed, at: 'waypoint' })
  })

  test.each(['workload', 'all'])('a waypoint for %s judges what goes straight to pods', async (purpose) => {
    const metadata = { name: WAYPOINT, namespace: 'shop', labels: { 'istio.io/waypoint-for': purpose } }
    const refs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: WAYPOINT }]
    const get = [{ to: [{ operation: { methods: ['GET'] } }] }]
    const mesh = createMesh([
      ...application('details'),
      ...application('productpage'),
      waypoint({ metadata }),
      custom('get', { targetRefs: refs, rules: get }),
    ])
    expect(await mesh.explain(straight)).toMatchObject({ allowed: true, at: 'waypoint' })
    expect(await mesh.explain({ ...straight, method: 'POST' })).toMatchObject({ allowed: false, at: 'waypoint' })
  })

  const strict = (metadata: object, spec: object): KubernetesObject => ({
    apiVersion: 'security.istio.io/v1',
    kind: 'PeerAuthentication',
    metadata: { name: 'strict', ...metadata },
    spec: { ...spec },
  })
  const mtls = { mode: 'STRICT' }
  const selector = { matchLabels: { 'app.kubernetes.io/name': 'details' } }

  test.each<[string, KubernetesObject[], boolean]>([
    ['the mesh', [strict({ namespace: 'istio-system' }, { mtls })], false],
    ['the namespace', [strict({ namespace: 'shop' }, { mtls })], false],
    ['the pods', [strict({ namespace: 'shop' }, { selector, mtls })], false],
    ['the port', [strict({ namespace: 'shop' }, { selector, portLevelMtls: { 9080: mtls } })], false],
    ['another port', [strict({ namespace: 'shop' }, { selector, portLevelMtls: { 80: mtls } })], true],
    ['another namespace', [strict({ namespace: 'bank' }, { mtls })], true],
    [
      'the mesh, but not for the namespace',
      [
        strict({ namespace: 'istio-system' }, { mtls }),
        strict({ namespace: 'shop' }, { mtls: { mode: 'PERMISSIVE' } }),
      ],
      true,
    ],
  ])('plaintext is refused where mutual TLS is strict for %s', async (_, peers, allowed) => {
    const mesh = createMesh([...details, ...client({}), ...peers])
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed, decided: true, at: 'ztunnel' })
    if (!allowed) expect(answer.sentence).toContain('/strict takes no plaintext, and the client is outside the mesh')
    const onMesh = createMesh([...details, ...client(AMBIENT), ...peers])
    expect(await onMesh.explain()).toMatchObject({ allowed: true })
  })

  test.each(['true', 'True', 't', '1'])(
    'a dry run (%s) decides nothing, and the answer says what it would',
    async (value) => {
      const dry = (name: string, spec: object) =>
        custom(name, { ...spec }, { annotations: { 'istio.io/dry-run': value } })
      const guarded = createMesh([...bookinfo, dry('dry', { ...service('details'), rules: [] })])
      const answer = await guarded.explain()
      expect(answer).toMatchObject({ allowed: true, enforced: { allowed: false, at: 'waypoint', policy: 'shop/dry' } })
      expect(answer.sentence).toContain(
        `; were the dry runs enforced: the waypoint shop/${WAYPOINT} answers 403, as no ALLOW policy matches`,
      )
      const beside = createMesh([...bookinfo, dry('dry', { ...pods('details') })])
      expect(await beside.explain()).toMatchObject({ allowed: true })
      expect(await beside.explain()).not.toHaveProperty('enforced')
    },
  )

  test.each(['false', 'yes', 'TRue', ''])('what Istio does not read as a dry run (%j) is enforced', async (value) => {
    const policy = custom('p', { ...service('details') }, { annotations: { 'istio.io/dry-run': value } })
    expect(await createMesh([...bookinfo, policy]).explain()).toMatchObject({ allowed: false, decided: true })
  })
})

describe('an answer knows what the beacon remembers', () => {
  const joined = async (mesh: Record<string, unknown>, atBeacon?: string, hasConfig = true) => {
    const applications = bookinfo.filter(({ kind }) => kind !== 'Gateway')
    const world = createMesh([...applications, ...application('other')], { hasConfig })
    const relation = (id: number, endpoint: string, role: 'provides' | 'requires') => ({
      relation: { id, endpoint, interface: endpoint === 'service-mesh' ? 'service_mesh' : 'http', role },
    })
    await world.send('config-changed', { application: 'beacon', config: { mesh } })
    const policies = [{ type: 'app', relation: 'details', endpoints: [{ methods: ['GET'] }] }]
    await world.send('config-changed', { application: 'details', config: { policies } })
    await world.send('relation-changed', {
      application: 'details',
      ...relation(1, 'service-mesh', 'requires'),
      remote: { application: 'beacon', data: {}, ...(atBeacon !== undefined && { endpoint: atBeacon }) },
    })
    for (const [id, application] of [
      [3, 'productpage'],
      [4, 'reviews'],
    ] as const)
      await world.send('relation-changed', {
        application: 'details',
        ...relation(id, 'details', 'provides'),
        remote: { application, data: {} },
      })
    for (const application of ['beacon', 'details']) await world.send('resync', { application })
    return world
  }

  test('an answer knows what the beacon remembers, and names the relation that a person made', async () => {
    const world = await joined({})
    const answer = await world.explain()
    expect(answer).toMatchObject({ allowed: true, relations: ['relation 3 (details) of shop/details'] })
    expect(answer.sentence).toContain('(asked for by relation 3 (details) of shop/details)')
    const refused = await world.explain({ method: 'POST', from: 'shop/other' })
    expect(refused).toMatchObject({
      allowed: false,
      relations: ['relation 3 (details) of shop/details', 'relation 4 (details) of shop/details'],
    })
  })

  test('an answer knows what the beacon remembers, and names the relation that a person made, where the beacon calls its endpoint otherwise', async () => {
    const world = await joined({}, 'mesh')
    expect(await world.explain()).toMatchObject({ allowed: true, relations: ['relation 3 (details) of shop/details'] })
  })

  test('an answer knows what the beacon remembers, and goes by its trust domain and its root namespace where nobody else says them', async () => {
    const world = await joined({ trustDomain: 'example.org', rootNamespace: 'mesh' }, undefined, false)
    expect(await world.explain()).toMatchObject({
      allowed: true,
      request: { trustDomain: 'example.org', rootNamespace: 'mesh' },
    })
    const closed = hardenedMode({ ...owner, application: 'istio' }, 'mesh')
    world.api.seed(closed)
    expect(await world.explain({ via: 'pod' })).toMatchObject({ allowed: false })
    // of reviews nobody says a root namespace
    expect(await world.explain({ to: 'shop/reviews' })).toMatchObject({ decided: false })
    expect(await world.explain({ to: 'shop/reviews', rootNamespace: 'istio-system' })).toMatchObject({ allowed: true })
    expect(await world.explain({ to: 'shop/reviews', rootNamespace: 'mesh' })).toMatchObject({ allowed: false })
  })
})

test('a pod has one identity: where client and destination have istiods of two trust domains, no answer is certain', async () => {
  const revised: KubernetesObject = {
    ...istioConfig,
    metadata: { ...istioConfig.metadata, name: 'istio-blue', labels: { 'istio.io/rev': 'blue' } },
    data: { mesh: 'trustDomain: other.example' },
  }
  const caller = application('caller').map((one) => ({ ...one, metadata: { ...one.metadata, namespace: 'away' } }))
  const home = (labels: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'away', labels },
  })
  const principals = ['cluster.local/ns/away/sa/caller']
  const policy = custom('callers', { ...pods('details'), rules: [{ from: [{ source: { principals } }] }] })
  const asked = { from: 'away/caller', to: 'shop/details', port: '9080', via: 'pod' }
  const answer = async (labels: Record<string, string>) =>
    await createMesh([home(labels), ...bookinfo, ...caller, policy, istioConfig, revised]).explain(asked)
  expect(await answer({})).toMatchObject({ allowed: true, decided: true })
  expect(await answer({ 'istio.io/rev': 'blue' })).toMatchObject({ decided: false })
})

test('a Service without pods has none that could be reached', async () => {
  const nothing: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'nothing', namespace: 'shop' },
    spec: { ports: [{ port: 80 }] },
  }
  const { status, message } = await createMesh([...bookinfo, nothing]).explain({
    to: 'shop/nothing',
    port: '80',
    via: 'pod',
  })
  expect([status, message]).toEqual([404, expect.stringContaining('nor a Service that selects pods')])
})

describe('pods that no workload has', () => {
  const pod = (name: string, labels: Record<string, string>, owner?: typeof daemons): KubernetesObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels, ...(owner && { ownerReferences: [owner] }) },
    spec: { serviceAccountName: 'exporter', containers: [{ name: 'c', image: 'x:1' }] },
    status: { phase: 'Running' },
  })
  const daemons = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'reviews', uid: 'd', controller: true }
  const labels = { role: 'exporter', 'istio.io/dataplane-mode': 'ambient' }
  const others = [pod('reviews-x', labels, daemons), pod('toolbox.1', labels)]
  const principals = ['cluster.local/ns/shop/sa/exporter']
  const closed = [
    custom('closed', { selector: { matchLabels: { role: 'exporter' } }, action: 'DENY', rules: [{}] }),
    custom('no-exporters', { ...pods('details'), action: 'DENY', rules: [{ from: [{ source: { principals } }] }] }),
  ]
  const mesh = () => createMesh([...bookinfo, ...others, ...closed])

  test.each([['reviews'], ['toolbox.1']])(
    'pods that no workload has are asked about by the name of what controls them, else their own: %s',
    async (name) => {
      const answer = await mesh().explain({ to: `shop/pod/${name}`, port: '9100' })
      expect(answer).toMatchObject({ allowed: false, at: 'ztunnel', policy: 'shop/closed' })
      expect(answer.sentence).toContain(`the pods of shop/${name}`)
      const plain = await mesh().explain({ to: 'shop/reviews', port: '9080', autoAllowWaypoint: 'false' })
      expect(plain.policy).not.toBe('shop/closed')
    },
  )

  test.each([['pod/reviews'], ['sa/exporter']])(
    'pods that no workload has are asked about as clients: %s',
    async (name) => {
      const asked = { from: `shop/${name}`, to: 'shop/details', port: '9080', via: 'pod' }
      expect(await mesh().explain(asked)).toMatchObject({
        allowed: false,
        policy: 'shop/no-exporters',
        request: { from: asked.from },
      })
    },
  )

  test('pods that no workload has are asked about by an account that nothing runs as, too', async () => {
    const denied = createMesh([...bookinfo, ...closed])
    const answer = await denied.explain({ from: 'shop/sa/exporter', to: 'shop/details', port: '9080', via: 'pod' })
    expect(answer).toMatchObject({ allowed: false, policy: 'shop/no-exporters' })
  })

  test('pods that no workload has and that are not there are not answered for', async () => {
    for (const side of ['from', 'to']) {
      const answer = await mesh().explain({ to: 'shop/details', [side]: 'shop/pod/details' })
      expect([side, answer.status]).toEqual([side, 404])
      expect(answer.message).toContain('there is no pod shop/details that no StatefulSet and no Deployment has')
    }
  })
})

describe('an ingress gateway', () => {
  const gateway = (listener: object = { protocol: 'HTTP' }): KubernetesObject => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'ingress', namespace: 'shop' },
    spec: { gatewayClassName: 'istio', listeners: [{ name: 'web', port: 80, ...listener }] },
  })
  const ingress = { namespace: 'shop', application: 'ingress', labels: {} }
  const external = (cidrs: string[]) => externalTraffic(ingress, { gateway: 'ingress', cidrs })
  const outside = { from: undefined, address: '10.200.0.1', to: 'shop/ingress', port: '80' }

  test('an ingress gateway is asked about by its kind where an application has its name', async () => {
    const denied = custom('closed', {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'ingress' }],
      action: 'DENY',
      rules: [{}],
    })
    const mesh = createMesh([...bookinfo, ...application('ingress'), gateway(), denied])
    const asked = { ...outside, to: 'shop/gateway/ingress' }
    expect(await mesh.explain(asked)).toMatchObject({ allowed: false, at: 'gateway', request: { to: asked.to } })
    const answer = await mesh.explain({ ...outside, port: '9080', autoAllowWaypoint: 'false' })
    expect(answer).toMatchObject({ allowed: true, at: 'ztunnel', request: { to: 'shop/ingress' } })
    expect(answer.steps).toContainEqual({
      at: 'destination',
      note: 'a Gateway has the same name: ask about it as shop/gateway/ingress',
    })
  })

  test('an ingress gateway that is not there is not answered for', async () => {
    const answer = await createMesh(bookinfo).explain({ ...outside, to: 'shop/gateway/productpage' })
    expect(answer.status).toBe(404)
    expect(answer.message).toContain('there is no Gateway shop/productpage that takes traffic from outside')
  })

  test('an ingress gateway as a client is asked about by its kind as well', async () => {
    const mesh = createMesh([...bookinfo, ...application('ingress'), gateway()])
    const answer = await mesh.explain({ from: 'shop/gateway/ingress', to: 'shop/reviews', port: '9080' })
    expect(answer.sentence).toMatch(/^shop\/ingress-istio may /)
  })

  test.each<[string, readonly KubernetesObject[], Record<string, string>, boolean]>([
    ['is open', [], {}, true],
    ['takes whom externalTraffic lists', [external(['10.0.0.0/8'])], {}, true],
    ['takes nobody else', [external(['10.0.0.0/8'])], { address: '192.168.0.1' }, false],
    ['takes nobody where it lists none', [external([])], {}, false],
    ['takes nobody in a hardened mesh', hardened, {}, false],
    ['takes whom externalTraffic lists in a hardened mesh', [...hardened, external(['10.0.0.0/8'])], {}, true],
  ])('%s', async (_, policies, changes, allowed) => {
    const mesh = createMesh([...bookinfo, gateway(), ...policies])
    const answer = await mesh.explain({ ...outside, ...changes })
    expect(answer).toMatchObject({ status: 200, allowed, decided: true, at: 'gateway' })
    expect(answer.sentence).toContain('outside the mesh, may')
    expect(answer.sentence).toContain('to the gateway shop/ingress on port 80')
  })

  test('an ingress gateway leaves it open for a client whose address is not told', async () => {
    const mesh = createMesh([...bookinfo, gateway(), external(['10.0.0.0/8'])])
    expect(await mesh.explain({ to: 'shop/ingress', port: '80' })).toMatchObject({ allowed: false, decided: false })
  })

  test('an ingress gateway asks its external authorizer', async () => {
    const mesh = createMesh([
      ...bookinfo,
      gateway(),
      externalAuthorizer(ingress, { gateway: 'ingress', provider: 'oidc' }),
    ])
    expect(await mesh.explain(outside)).toMatchObject({
      allowed: false,
      decided: false,
      policy: 'shop/ext-authz-ingress',
    })
  })

  test('an ingress gateway sees no HTTP in what it does not decrypt', async () => {
    const get = custom('get', { ...external([]).spec, rules: [{ to: [{ operation: { methods: ['GET'] } }] }] })
    const [http, tls] = [gateway(), gateway({ protocol: 'TLS' })].map((one) => createMesh([...bookinfo, one, get]))
    expect(await http?.explain(outside)).toMatchObject({ allowed: true })
    expect(await tls?.explain(outside)).toMatchObject({ allowed: false })
  })

  test('an ingress gateway goes by the policies that select its pods', async () => {
    const labels = { 'gateway.networking.k8s.io/gateway-name': 'ingress' }
    const selecting = custom('selecting', { selector: { matchLabels: labels } })
    expect(await createMesh([...bookinfo, gateway(), selecting]).explain(outside)).toMatchObject({
      allowed: false,
      policy: 'shop/selecting',
    })
  })

  test('an ingress gateway is a client as well, under the identity of its pods', async () => {
    const l4 = ingressToBackend(ingress, { namespace: 'shop', application: 'details', ports: [9080] }, 'cluster.local')
    const mesh = createMesh([...bookinfo, gateway(), ...hardened, ...l4])
    const answer = await mesh.explain({ from: 'shop/ingress' })
    expect(answer).toMatchObject({ allowed: true, at: 'ztunnel', policy: 'shop/details-ingress-shop-l4' })
    expect(answer.sentence).toContain('shop/ingress-istio may send')
  })

  test('an ingress gateway is not decided where it has no listener', async () => {
    const answer = await createMesh([...bookinfo, gateway()]).explain({ ...outside, port: '81' })
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toContain(': the gateway has no listener on port 81.')
  })
})

describe("Istio's own config", () => {
  const ISTIO = { apiVersion: 'v1', kind: 'ConfigMap' }
  const config = (namespace: string, mesh: string) => ({
    ...ISTIO,
    metadata: { name: 'istio', namespace },
    data: { mesh },
  })
  /** All is denied in the root namespace `istio-system`, and the beacon takes another one for it. */
  const cluster = async (...more: KubernetesObject[]) => {
    const mesh = createMesh([...bookinfo, ...hardened, ...more], { hasConfig: false })
    await mesh.send('config-changed', { application: 'beacon', config: { mesh: { rootNamespace: 'istio-sytem' } } })
    await mesh.send('relation-changed', requires(3, { application: 'details' }))
    return mesh
  }

  test("Istio's own config says which namespace is the root, whatever the beacon says", async () => {
    const mesh = await cluster(config('istio-system', 'enableTracing: true\n'))
    expect(await mesh.explain()).toMatchObject({
      allowed: false,
      decided: true,
      request: { rootNamespace: 'istio-system' },
      steps: expect.arrayContaining([
        {
          at: 'destination',
          note: "the beacon's config says that istio-sytem is Istio's root namespace, and Istio's own that istio-system is",
        },
      ]),
    })
  })

  test.each([
    ['1.24.6', true],
    ['1.25.0', false],
    ['master', false],
  ])('of version %s says whether all waypoints can be denied everything', async (version, allowed) => {
    const labels = { 'app.kubernetes.io/version': version }
    const said = { ...config('istio-system', ''), metadata: { name: 'istio', namespace: 'istio-system', labels } }
    const answer = await createMesh([...bookinfo, ...managed, ...hardened, said]).explain({
      autoAllowWaypoint: 'true',
      method: 'POST',
      to: 'shop/reviews',
    })
    expect(answer).toMatchObject({ allowed, decided: true })
  })

  test.each([
    ['is not there', []],
    ['is not to be understood', [config('istio-system', '{')]],
  ])('%s: nothing is decided where the root matters', async (_, more) => {
    expect(await (await cluster(...more)).explain()).toMatchObject({
      allowed: false,
      decided: false,
      sentence: expect.stringContaining("Istio's root namespace is not known: it may be istio-sytem or istio-system"),
    })
    expect(await (await cluster(...more)).explain({ rootNamespace: 'istio-system' })).toMatchObject({
      allowed: false,
      decided: true,
    })
  })

  test("Istio's own config that may not be read is as one that is not there", async () => {
    const mesh = await cluster(config('istio-system', ''))
    const { handle } = mesh.api
    mesh.api.handle = (request) => {
      if (!request.path.endsWith('/configmaps/istio')) return handle(request)
      const status = { kind: 'Status', metadata: {}, status: 'Failure', reason: 'Forbidden', code: 403 }
      return { status: 403, headers: {}, body: JSON.stringify(status) }
    }
    expect(await mesh.explain()).toMatchObject({ allowed: false, decided: false })
  })

  test.each<[string, KubernetesObject, string]>([
    [
      'trust domain',
      custom('own', {
        ...pods('details'),
        rules: [{ from: [{ source: { principals: [`cluster.local/ns/shop/sa/${WAYPOINT}`] } }] }],
      }),
      "Istio's trust domain is not known: it may be another than cluster.local",
    ],
    [
      'root namespace',
      custom('closed', {}, { namespace: 'elsewhere' }),
      "Istio's root namespace is not known: it may be istio-system or elsewhere",
    ],
  ])(
    'without it an answer is open where the %s decides, and says so, and another one is not',
    async (_, policy, why) => {
      const unknown = createMesh([...bookinfo, policy], { hasConfig: false })
      const because = ", because Istio's own config is not: there is no readable ConfigMap istio-system/istio"
      expect(await unknown.explain()).toMatchObject({
        ...{ allowed: false, decided: false },
        sentence: expect.stringContaining(`${why}${because}`),
      })
      const known = { trustDomain: 'cluster.local', rootNamespace: 'istio-system' }
      expect(await unknown.explain(known)).toMatchObject({ allowed: true, decided: true })
      expect(await createMesh([...bookinfo, policy]).explain()).toMatchObject({ allowed: true, decided: true })
      expect(await createMesh(bookinfo, { hasConfig: false }).explain()).toMatchObject({ allowed: true, decided: true })
    },
  )

  test("Istio's own config says the trust domain and its aliases", async () => {
    const policy = custom('old', {
      ...service('details'),
      rules: [{ from: [{ source: { principals: ['old.example/ns/shop/sa/productpage'] } }] }],
    })
    const [known, without, unknown] = ['trustDomainAliases: [old.example]', 'trustDomain: new.example', undefined].map(
      (text) =>
        createMesh([...bookinfo, policy, ...(text === undefined ? [] : [config('istio-system', `${text}\n`)])], {
          hasConfig: false,
        }),
    )
    expect(await known?.explain()).toMatchObject({ allowed: true, decided: true })
    expect(await without?.explain()).toMatchObject({
      allowed: false,
      decided: true,
      request: { trustDomain: 'new.example' },
    })
    expect(await unknown?.explain()).toMatchObject({ allowed: false, decided: false })
  })
})

describe('a sidecar', () => {
  const proxy = { serviceAccountName: 'x', containers: ['c', 'istio-proxy'].map((name) => ({ name, image: 'x:1' })) }
  const [PLAIN, INJECTED] = [{}, { 'sidecar.istio.io/inject': 'true' }]

  test.each([
    ['of the client', application('productpage', { labels: PLAIN, podSpec: proxy }), application('details')],
    ['that the client gets', application('productpage', { labels: INJECTED }), application('details')],
    ['of the pods', application('productpage'), application('details', { labels: PLAIN, podSpec: proxy })],
    ['that the pods get', application('productpage'), application('details', { labels: INJECTED })],
  ])('%s leaves the answer open', async (_, client, target) => {
    expect(await createMesh([...client, ...target]).explain()).toMatchObject({
      allowed: false,
      decided: false,
      sentence: expect.stringContaining('a sidecar, or may have one'),
    })
  })
})

describe('what a waypoint is for', () => {
  const unlabelled = waypoint({ metadata: { name: WAYPOINT, namespace: 'shop' } })
  const classes = (labels: Record<string, string>) => ({
    kind: 'GatewayClassList',
    metadata: {},
    items: [{ metadata: { name: 'istio-waypoint', labels } }],
  })
  const answering = (status: number, body: unknown) => {
    const mesh = createMesh([...application('productpage'), ...application('details'), unlabelled, ...managed])
    const { handle } = mesh.api
    mesh.api.handle = (request) =>
      request.path.includes('/gatewayclasses?') ? { status, headers: {}, body: JSON.stringify(body) } : handle(request)
    return mesh
  }

  test('what a waypoint is for is said by its GatewayClass where it does not say so itself', async () => {
    expect(await answering(200, classes({})).explain()).toMatchObject({ allowed: true, at: 'waypoint' })
    expect(await answering(200, classes({ 'istio.io/waypoint-for': 'workload' })).explain()).toMatchObject({
      sentence: expect.stringContaining('is for workload, not for Services'),
    })
    const refusal = { kind: 'Status', metadata: {}, status: 'Failure', reason: 'Forbidden', code: 403 }
    expect(await answering(403, refusal).explain()).toMatchObject({
      allowed: false,
      decided: false,
      sentence: expect.stringContaining('GatewayClass says what the waypoint shop/shop-beacon-waypoint is for'),
    })
  })
})
