import { describe, expect, test } from 'vitest'
import { type AccessRequest, type ClusterSnapshot, evaluate } from '../../../src/ask/authorization/evaluate.ts'
import type { AuthorizationPolicy, Rule } from '../../../src/mesh/istio/authorization-policy.ts'
import { externalTraffic } from '../../../src/mesh/istio/beacon-policies.ts'
import { authorizationPolicies } from '../../../src/mesh/istio/grant.ts'
import { call, custom, hardened, managed, pods, service, world } from '../../mesh/istio/bookinfo.ts'
import { endpoint, meshPolicy, owner, request } from '../../mesh/istio/samples.ts'

const NAME = managed[0]?.metadata.name
const WAYPOINT = 'the waypoint shop/shop-beacon-waypoint'
const ASKED = 'relation 3 (service-mesh) of shop/details'
const miss = (why: string) =>
  `${WAYPOINT} answers 403, as no ALLOW policy matches; the nearest is shop/${NAME} (asked for by ${ASKED}): ${why}`
const NOTHING = 'no ALLOW policy applies and no DENY policy matches'
const CLOSED = (where: string) =>
  `no ALLOW policy matches; the nearest is istio-system/istio-shop-policy-global-allow-nothing-${where} (asked for by config of shop/istio): it has no rules, and so allows nothing`
const backwards = call({
  from: { namespace: 'shop', serviceAccount: 'details' },
  to: { namespace: 'shop', application: 'productpage', service: 'productpage' },
  path: '/productpage',
})
const both = [...managed, ...hardened]
const DETAILS = 'to the Service shop/details on port'

describe('bookinfo, in one sentence', () => {
  test.each<[string, AccessRequest, ClusterSnapshot, boolean, string]>([
    [
      'an allowed path',
      call(),
      world(managed),
      true,
      `shop/productpage may send GET /details/0 ${DETAILS} 9080: ${WAYPOINT} lets it through for policy shop/${NAME} (asked for by ${ASKED}).`,
    ],
    [
      'another allowed path',
      call({ path: '/health' }),
      world(both),
      true,
      `shop/productpage may send GET /health ${DETAILS} 9080: ${WAYPOINT} lets it through for policy shop/${NAME} (asked for by ${ASKED}).`,
    ],
    ...['POST', 'PUT', 'DELETE'].map((method): [string, AccessRequest, ClusterSnapshot, boolean, string] => [
      method,
      call({ method }),
      world(managed),
      false,
      `shop/productpage may not send ${method} /details/0 ${DETAILS} 9080: ${miss(`method ${method} is not GET`)}.`,
    ]),
    [
      'another path',
      call({ path: '/admin' }),
      world(managed),
      false,
      `shop/productpage may not send GET /admin ${DETAILS} 9080: ${miss('path /admin is not /details/* or /health')}.`,
    ],
    [
      'another port',
      call({ port: 8080 }),
      world(managed),
      false,
      `shop/productpage may not send GET /details/0 ${DETAILS} 8080: ${miss('port 8080 is not 9080')}.`,
    ],
    [
      'another source',
      call({ from: { namespace: 'shop', serviceAccount: 'reviews' } }),
      world(managed),
      false,
      `shop/reviews may not send GET /details/0 ${DETAILS} 9080: ${miss('source cluster.local/ns/shop/sa/reviews is not cluster.local/ns/shop/sa/productpage')}.`,
    ],
    [
      'no policy at all',
      call(),
      world([]),
      true,
      `shop/productpage may send GET /details/0 ${DETAILS} 9080: at ${WAYPOINT} ${NOTHING}.`,
    ],
    [
      'hardened, without policies',
      call(),
      world(hardened),
      false,
      `shop/productpage may not send GET /details/0 ${DETAILS} 9080: ${WAYPOINT} answers 403, as ${CLOSED('waypoint')}.`,
    ],
    [
      'an application that nobody asked to reach',
      backwards,
      world(managed),
      true,
      `shop/details may send GET /productpage to the Service shop/productpage on port 9080: at ${WAYPOINT} ${NOTHING}.`,
    ],
    [
      'the same, hardened',
      backwards,
      world(both),
      false,
      `shop/details may not send GET /productpage to the Service shop/productpage on port 9080: ${WAYPOINT} answers 403, as ${CLOSED('waypoint')}.`,
    ],
    [
      'hardened, without auto-allow: the ztunnel sees the waypoint',
      call(),
      world(both, { autoAllowWaypoint: false }),
      false,
      `shop/productpage may not send GET /details/0 ${DETAILS} 9080: the ztunnel of shop/details does not let the waypoint through, which answers 503, as ${CLOSED('ztunnel')}.`,
    ],
    [
      'a client outside the mesh, which passes no waypoint',
      call({ from: { namespace: 'legacy' } }),
      world(both, { autoAllowWaypoint: false }),
      false,
      `A client in legacy, outside the mesh, may not send GET /details/0 ${DETAILS} 9080: the ztunnel of shop/details resets the connection, as ${CLOSED('ztunnel')}.`,
    ],
    [
      'a destination outside the mesh',
      call({ to: { namespace: 'legacy', application: 'old' }, method: undefined, path: undefined }),
      world(both, { workloads: [{ namespace: 'legacy', name: 'old', labels: {}, onMesh: false }] }),
      true,
      'shop/productpage may connect to the pods of legacy/old on port 9080: its pods are not on the mesh, where nothing guards them.',
    ],
    [
      'a method that is not given',
      call({ method: undefined, path: undefined }),
      world(managed),
      false,
      `shop/productpage may or may not connect ${DETAILS} 9080: whether ${WAYPOINT} lets it through for policy shop/${NAME} (asked for by ${ASKED}) is not known: whether the connection carries HTTP is not known.`,
    ],
  ])('%s', (_, asked, where, allowed, sentence) => {
    const decision = evaluate(asked, where)
    expect({ allowed: decision.allowed, sentence: decision.sentence }).toEqual({ allowed, sentence })
    expect(JSON.parse(JSON.stringify(decision))).toEqual(decision)
  })

  test('the decision names the policy, the relation and every step', () => {
    expect(evaluate(call({ method: 'POST' }), world(both))).toMatchObject({
      allowed: false,
      decided: true,
      at: 'waypoint',
      policy: `shop/${NAME}`,
      relations: [ASKED],
      steps: [
        { policy: 'istio-system/istio-shop-policy-global-allow-nothing-waypoint', action: 'ALLOW', matches: 'no' },
        { policy: `shop/${NAME}`, action: 'ALLOW', matches: 'no', note: 'method POST is not GET' },
      ],
    })
  })

  test.each([
    ['/details/../admin', false],
    ['/details/%2e%2e/admin', false],
    ['/details\\..\\..\\admin', false],
    ['/admin/../details/0', true],
    ['/health?verbose', true],
    ['/healthy', false],
  ])('a path is what the waypoint makes of it: %s', (path, allowed) => {
    expect(evaluate(call({ path }), world(managed)).allowed).toBe(allowed)
  })
})

describe('what the ztunnel behind a waypoint sees', () => {
  const allowWaypoint = custom('allow-waypoint', {
    ...pods('details'),
    rules: [{ from: [{ source: { principals: ['cluster.local/ns/shop/sa/shop-beacon-waypoint'] } }] }],
  })
  const allowClient = custom('allow-client', {
    ...pods('details'),
    rules: [{ from: [{ source: { principals: ['cluster.local/ns/shop/sa/productpage'] } }] }],
  })
  const denyClient = custom('deny-client', {
    ...pods('details'),
    action: 'DENY',
    ...(allowClient.spec.rules && { rules: allowClient.spec.rules }),
  })

  test.each<[string, ClusterSnapshot, boolean]>([
    ['its identity, which a policy can allow', world([...both, allowWaypoint], { autoAllowWaypoint: false }), true],
    [
      'not that of the client, which a policy allows in vain',
      world([...managed, allowClient], { autoAllowWaypoint: false }),
      false,
    ],
    ['not that of the client, which a policy denies in vain', world([...managed, denyClient]), true],
    ['auto-allow goes beside other policies', world([...managed, allowClient]), true],
    [
      'auto-allow does not outweigh a DENY',
      world([...managed, custom('no', { ...pods('details'), action: 'DENY', rules: [{}] })]),
      false,
    ],
  ])('%s', (_, where, allowed) => {
    expect(evaluate(call(), where).allowed).toBe(allowed)
  })

  test('what the ztunnel behind a waypoint sees is not the address of the client', () => {
    const rules = [{ from: [{ source: { ipBlocks: ['10.0.0.0/8'] } }] }]
    const where = world([custom('net', { ...pods('details'), rules })], { autoAllowWaypoint: false })
    const from = { namespace: 'shop', serviceAccount: 'productpage', address: '10.1.2.3' }
    expect(evaluate(call({ from }), where)).toMatchObject({ allowed: false, at: 'ztunnel' })
    expect(evaluate(call({ from, to: { namespace: 'shop', application: 'details' } }), where).allowed).toBe(true)
  })
})

describe('straight to a pod', () => {
  const straight = call({ to: { namespace: 'shop', application: 'details' } })
  const metrics = authorizationPolicies(
    [
      request(
        meshPolicy({
          source_app_name: 'productpage',
          target_app_name: 'details',
          target_type: 'unit',
          endpoints: [endpoint({ ports: [9090] })],
        }),
      ),
    ],
    owner,
  )
  const scrape = { ...straight, port: 9090, method: undefined, path: undefined }

  test.each<[string, AccessRequest, ClusterSnapshot, boolean]>([
    [
      'no waypoint, so no policy of the Service holds',
      { ...straight, path: '/admin' },
      world(managed, { autoAllowWaypoint: false }),
      true,
    ],
    ['with auto-allow the pod is closed to all but the waypoint', straight, world(managed), false],
    ['but for whom a unit policy lets through', scrape, world([...both, ...metrics]), true],
    ['on its port', { ...scrape, port: 9091 }, world([...both, ...metrics]), false],
    [
      'from its source',
      { ...scrape, from: { namespace: 'shop', serviceAccount: 'reviews' } },
      world([...both, ...metrics]),
      false,
    ],
    ['by its identity', { ...scrape, from: { namespace: 'shop' } }, world([...both, ...metrics]), false],
    ['hardened', straight, world(both), false],
  ])('%s', (_, asked, where, allowed) => {
    expect(evaluate(asked, where)).toMatchObject({ allowed, at: 'ztunnel' })
  })

  test('a Service finds its pods by its selector', () => {
    const waypoint = { namespace: 'shop', name: 'w', serviceAccount: 'w' }
    const named = world([], {
      services: [{ namespace: 'shop', name: 'alias', selector: { 'app.kubernetes.io/name': 'details' }, waypoint }],
    })
    expect(evaluate(straight, named).policy).toBe('shop/istio_allow_waypoint_shop_w')
    const other = world([], { services: [{ namespace: 'shop', name: 'alias', selector: { tier: 'x' }, waypoint }] })
    expect(evaluate(straight, other).allowed).toBe(true)
  })
})

describe('CUSTOM, then DENY, then ALLOW', () => {
  const at = service('details')
  const ext = custom('ext', { ...at, action: 'CUSTOM', provider: { name: 'oidc' }, rules: [{}] })
  const deny = custom('deny', { ...at, action: 'DENY', rules: [{ to: [{ operation: { methods: ['GET'] } }] }] })
  const allow = custom('allow', { ...at, action: 'ALLOW', rules: [{}] })

  test.each<[string, ClusterSnapshot, { allowed: boolean; decided: boolean; policy?: string }]>([
    ['CUSTOM before ALLOW', world([allow, ext]), { allowed: false, decided: false, policy: 'shop/ext' }],
    ['a DENY that CUSTOM does not hide', world([deny, ext]), { allowed: false, decided: true, policy: 'shop/deny' }],
    [
      'a closed Service that CUSTOM does not hide',
      world([custom('closed', at), ext]),
      { allowed: false, decided: true, policy: 'shop/closed' },
    ],
    ['DENY before ALLOW', world([allow, deny]), { allowed: false, decided: true, policy: 'shop/deny' }],
    ['ALLOW', world([allow]), { allowed: true, decided: true, policy: 'shop/allow' }],
    [
      'a CUSTOM that does not match has no say',
      world([allow, custom('ext', { ...ext.spec, rules: [{ to: [{ operation: { ports: ['1'] } }] }] })]),
      { allowed: true, decided: true, policy: 'shop/allow' },
    ],
    [
      'AUDIT has none either',
      world([allow, custom('audit', { ...at, action: 'AUDIT', rules: [{}] })]),
      { allowed: true, decided: true, policy: 'shop/allow' },
    ],
    [
      'nor has a dry run',
      world([allow, custom('try', deny.spec, { annotations: { 'istio.io/dry-run': 'true' } })]),
      { allowed: true, decided: true, policy: 'shop/allow' },
    ],
    [
      'an ALLOW without rules closes',
      world([custom('nothing', at)]),
      { allowed: false, decided: true, policy: 'shop/nothing' },
    ],
    [
      'and another ALLOW opens again',
      world([custom('nothing', at), allow]),
      { allowed: true, decided: true, policy: 'shop/allow' },
    ],
    [
      'a DENY without rules does nothing',
      world([custom('nothing', { ...at, action: 'DENY' })]),
      { allowed: true, decided: true },
    ],
  ])('%s', (_, where, expected) => {
    const { allowed, decided, policy } = evaluate(call(), where)
    expect({ allowed, decided, ...(policy && { policy }) }).toEqual(expected)
  })

  test('a client of which nothing is known has no address that anybody gave it', () => {
    const said = (address: string) => evaluate(call({ from: { namespace: '', address } }), world([])).sentence
    expect(said('203.0.113.1')).toMatch(/^A client outside the mesh may /)
    expect(said('10.1.2.3')).toMatch(/^A client at 10\.1\.2\.3, outside the mesh, may /)
  })

  test('what cannot be known offline is said', () => {
    expect(evaluate(call(), world([ext])).sentence).toBe(
      `shop/productpage may or may not send GET /details/0 ${DETAILS} 9080: the external authorizer oidc decides, which ${WAYPOINT} asks for policy shop/ext; it cannot be known offline.`,
    )
  })

  const header = { when: [{ key: 'request.headers[x-user]', values: ['admin'] }] }
  test.each<[string, ClusterSnapshot, boolean, string]>([
    [
      'an ALLOW may allow',
      world([custom('maybe', { ...at, rules: [header] })]),
      false,
      'lets it through for policy shop/maybe is not known: the request.headers[x-user] is not known',
    ],
    [
      'a DENY may deny',
      world([custom('maybe', { ...at, action: 'DENY', rules: [header] })]),
      false,
      'refuses it for policy shop/maybe is not known: the request.headers[x-user] is not known',
    ],
    [
      'a condition that fails for certain decides',
      world([custom('no', { ...at, action: 'DENY', rules: [{ ...header, to: [{ operation: { ports: ['1'] } }] }] })]),
      true,
      NOTHING,
    ],
  ])('%s', (_, where, allowed, why) => {
    const decision = evaluate(call(), where)
    expect(decision.allowed).toBe(allowed)
    expect(decision.sentence).toContain(why)
  })
})

describe('where a policy holds', () => {
  const gatewayApi = 'gateway.networking.k8s.io'
  const nobody = { rules: [] }
  const gateway = { group: gatewayApi, kind: 'Gateway', name: 'shop-beacon-waypoint' }
  const ofGateway = { targetRefs: [gateway], ...nobody }
  const ofClass = { targetRefs: [{ group: gatewayApi, kind: 'GatewayClass', name: 'istio-waypoint' }], ...nobody }

  test.each<[string, ReturnType<typeof custom>, 'waypoint' | 'ztunnel' | undefined]>([
    ['a Service', custom('p', { ...service('details'), ...nobody }), 'waypoint'],
    ['the older targetRef', custom('p', { targetRef: { kind: 'Service', name: 'details' }, ...nobody }), 'waypoint'],
    [
      'the group core',
      custom('p', { targetRefs: [{ group: 'core', kind: 'Service', name: 'details' }], ...nobody }),
      'waypoint',
    ],
    ['another Service', custom('p', { ...service('reviews'), ...nobody }), undefined],
    [
      'a Service of another namespace',
      custom('p', { ...service('details'), ...nobody }, { namespace: 'bank' }),
      undefined,
    ],
    [
      'a reference into another namespace',
      custom('p', { targetRefs: [{ ...gateway, namespace: 'bank' }], ...nobody }),
      undefined,
    ],
    ['the waypoint itself', custom('p', ofGateway), 'waypoint'],
    ['a Gateway of another namespace', custom('p', ofGateway, { namespace: 'bank' }), undefined],
    ['all waypoints, from the root namespace', custom('p', ofClass, { namespace: 'istio-system' }), 'waypoint'],
    ['all waypoints, from elsewhere', custom('p', ofClass), undefined],
    ['labels', custom('p', { ...pods('details'), ...nobody }), 'ztunnel'],
    ['labels that the pods do not have', custom('p', { ...pods('reviews'), ...nobody }), undefined],
    [
      'labels, from the root namespace',
      custom('p', { ...pods('details'), ...nobody }, { namespace: 'istio-system' }),
      'ztunnel',
    ],
    ['the namespace', custom('p', nobody), 'ztunnel'],
    ['the namespace, with an empty list of targets', custom('p', { targetRefs: [], ...nobody }), 'ztunnel'],
    ['another namespace', custom('p', nobody, { namespace: 'bank' }), undefined],
    ['the mesh', custom('p', nobody, { namespace: 'istio-system' }), 'ztunnel'],
  ])('%s', (_, policy, at) => {
    const decision = evaluate(call(), world([policy], { autoAllowWaypoint: false }))
    expect(decision.allowed ? undefined : decision.at).toBe(at)
  })

  test('a Service without a waypoint is guarded by its ztunnel alone', () => {
    const bare = world(managed, { services: [{ namespace: 'shop', name: 'details' }] })
    expect(evaluate(call({ method: 'POST' }), bare)).toMatchObject({ allowed: true, at: 'ztunnel' })
  })

  test('what is not known of the destination is said', () => {
    const decision = evaluate(call({ to: { namespace: 'bank', application: 'till', service: 'till' } }), world([]))
    expect(decision.steps.map(({ note }) => note)).toEqual([
      'the Service is not known, nor is a waypoint of it',
      'the pods are not known, and taken to be on the mesh',
    ])
  })

  test('pods that are not known have the label that Juju gives them', () => {
    const policy = custom('p', { ...pods('till'), ...nobody }, { namespace: 'bank' })
    expect(evaluate(call({ to: { namespace: 'bank', application: 'till' } }), world([policy])).policy).toBe('bank/p')
  })

  test('an ingress is guarded as its Gateway is', () => {
    const ingress = { namespace: 'shop', application: 'ingress', labels: {} }
    const where = world([externalTraffic(ingress, { gateway: 'shop-beacon-waypoint', cidrs: ['10.0.0.0/8'] })])
    const from = (address: string) => call({ from: { namespace: 'shop', serviceAccount: 'x', address } })
    expect(evaluate(from('10.200.0.1'), where).allowed).toBe(true)
    expect(evaluate(from('192.168.0.1'), where)).toMatchObject({ allowed: false, at: 'waypoint' })
  })
})

describe('HTTP at a ztunnel', () => {
  const straight = call({ to: { namespace: 'shop', application: 'details' } })
  const where = (action: 'ALLOW' | 'DENY' | 'CUSTOM', rules: NonNullable<ReturnType<typeof custom>['spec']['rules']>) =>
    world([custom('p', { ...pods('details'), action, rules })], { autoAllowWaypoint: false })
  const get = { operation: { methods: ['GET'] } }
  const port = { operation: { ports: ['9080'] } }

  test.each<[string, ClusterSnapshot, boolean, string]>([
    ['an ALLOW rule is dropped', where('ALLOW', [{ to: [get] }]), false, 'its methods cannot be seen by a ztunnel'],
    [
      'with all that it has besides',
      where('ALLOW', [{ to: [port, get] }]),
      false,
      'its methods cannot be seen by a ztunnel',
    ],
    ['the other rules stay', where('ALLOW', [{ to: [get] }, { to: [port] }]), true, 'a rule matches'],
    [
      'so is one with a condition on HTTP',
      where('ALLOW', [{ when: [{ key: 'request.headers[x]', values: ['y'] }] }]),
      false,
      'its request.headers[x] cannot be seen by a ztunnel',
    ],
    [
      'a condition on the connection is none',
      where('ALLOW', [{ when: [{ key: 'destination.port', values: ['9080'] }] }]),
      true,
      'a rule matches',
    ],
    [
      'a DENY rule denies what is left of it',
      where('DENY', [{ to: [{ operation: { methods: ['POST'], ports: ['9080'] } }] }]),
      false,
      'a rule matches',
    ],
    ['of which there may be nothing', where('DENY', [{ to: [get] }]), true, 'its methods cannot be seen by a ztunnel'],
    [
      'an operation that says nothing matches nothing',
      where('ALLOW', [{ to: [{ operation: {} }] }]),
      false,
      'a part of it has no field that a ztunnel sees, and so never matches',
    ],
    ['CUSTOM is not known there', where('CUSTOM', [{}]), true, 'a ztunnel has no CUSTOM action'],
  ])('%s', (_, at, allowed, note) => {
    const decision = evaluate(straight, at)
    expect({ allowed: decision.allowed, note: decision.steps.at(-1)?.note }).toEqual({ allowed, note })
  })
})

describe('a trust domain at a waypoint', () => {
  const from = { namespace: 'shop', serviceAccount: 'productpage' }
  const asked = (rule: Rule, action: 'ALLOW' | 'DENY', trustDomainAliases: ClusterSnapshot['trustDomainAliases']) => {
    const policy = custom('p', { ...service('details'), action, rules: [rule] })
    const { allowed, decided } = evaluate(call({ from }), world([policy], { trustDomain: 'new', trustDomainAliases }))
    return decided ? allowed : 'not known'
  }
  const only = (...trustDomains: string[]): Rule => ({ from: [{ source: { trustDomains } }] })
  const none = (...notTrustDomains: string[]): Rule => ({ from: [{ source: { notTrustDomains } }] })
  const when = (...values: string[]): Rule => ({ when: [{ key: 'source.trustDomain', values }] })

  test.each<[string, Rule, 'ALLOW' | 'DENY', ClusterSnapshot['trustDomainAliases'], boolean | 'not known']>([
    ['that is an alias lets in who has the mesh’s own', only('old'), 'ALLOW', ['old'], true],
    ['that is an alias refuses who has the mesh’s own', only('old'), 'DENY', ['old'], false],
    ['that is an alias is excluded like the mesh’s own', none('old'), 'ALLOW', ['old'], false],
    ['that a condition names is an alias as well', when('old'), 'ALLOW', ['old'], true],
    ['that is no alias is another one', only('other'), 'ALLOW', ['old'], false],
    ['with a wildcard is compared as it is written', only('ol*'), 'ALLOW', ['old'], false],
    ['that may be an alias decides nothing', only('old'), 'ALLOW', 'unknown', 'not known'],
    ['that may be an alias decides nothing where it is excluded', none('old'), 'ALLOW', 'unknown', 'not known'],
    ['that is the mesh’s own needs no alias', only('new'), 'ALLOW', 'unknown', true],
  ])('%s', (_, rule, action, aliases, expected) => {
    expect(asked(rule, action, aliases)).toBe(expected)
  })
})

describe('a canary of a waypoint', () => {
  const waypoint = { namespace: 'shop', name: 'w', serviceAccount: 'w' }
  const canary = (weight: number) => ({ namespace: 'shop', name: 'c', serviceAccount: 'c', weight })
  const letsIn = (...names: string[]) =>
    custom('pods', {
      ...pods('details'),
      rules: [{ from: [{ source: { principals: names.map((name) => `cluster.local/ns/shop/sa/${name}`) } }] }],
    })
  const asked = (weight: number, policies: AuthorizationPolicy[], changes: Partial<ClusterSnapshot> = {}) =>
    evaluate(
      call(),
      world(policies, {
        services: [{ namespace: 'shop', name: 'details', waypoint, canary: canary(weight) }],
        autoAllowWaypoint: false,
        ...changes,
      }),
    )

  test('a canary of a waypoint that the pods do not let in leaves the answer open, with its share', () => {
    const answer = asked(20, [letsIn('w')])
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(
      /: of the connections the waypoint shop\/w takes 80 %, and its canary shop\/c 20 %, and they decide differently\.$/,
    )
  })

  test('a canary of a waypoint that decides as its waypoint does changes nothing', () => {
    expect(asked(20, [letsIn('w', 'c')])).toMatchObject({ allowed: true, decided: true })
    expect(asked(20, [letsIn('x')])).toMatchObject({ allowed: false, decided: true })
  })

  test('a canary of a waypoint that takes all decides alone', () => {
    expect(asked(100, [letsIn('w')])).toMatchObject({ allowed: false, decided: true })
    expect(asked(100, [letsIn('c')])).toMatchObject({ allowed: true, decided: true })
  })

  test('a canary of a waypoint is none of auto-allow', () => {
    expect(asked(20, [], { autoAllowWaypoint: true })).toMatchObject({ decided: false })
  })

  test('a canary of a waypoint is nothing to an Istio that knows none', () => {
    expect(asked(20, [letsIn('w')], { istioVersion: [1, 30, 4] })).toMatchObject({ allowed: true, decided: true })
  })
})

test('a policy for all waypoints is none to an Istio before 1.25', () => {
  const closed = custom(
    'closed',
    { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }] },
    { namespace: 'istio-system' },
  )
  expect(evaluate(call(), world([closed], { istioVersion: [1, 24, 6] }))).toMatchObject({ allowed: true })
  expect(evaluate(call(), world([closed], { istioVersion: [1, 25, 0] }))).toMatchObject({ allowed: false })
  expect(evaluate(call(), world([closed]))).toMatchObject({ allowed: false })
})
