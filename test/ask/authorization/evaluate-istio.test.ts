import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type AccessRequest,
  type ClusterSnapshot,
  evaluate,
  type PeerAuthentication,
} from '../../../src/ask/authorization/evaluate.ts'
import type {
  AuthorizationPolicy,
  Condition,
  Operation,
  Rule,
  Source,
} from '../../../src/mesh/istio/authorization-policy.ts'
import { least } from '../../helpers/runs.ts'
import { custom, pods, service } from '../../mesh/istio/bookinfo.ts'
import { always } from '../../mesh/istio/samples.ts'
import { outcomesOf } from './istio/route.ts'

const GATEWAY_API = 'gateway.networking.k8s.io'
const WAYPOINT = { namespace: 'shop', name: 'w', serviceAccount: 'w' }
const CANARY = { namespace: 'shop', name: 'c', serviceAccount: 'c' }
const REMOTE = { namespace: 'mesh', name: 'v', serviceAccount: 'proxy' }

const some = <T>(...values: T[]): fc.Arbitrary<T[]> => fc.subarray(values, { minLength: 1 })

/** Seldom there: a rule of many fields matches nothing. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const dense = <T extends object>(shape: { [key in keyof T]: fc.Arbitrary<T[key]> }): fc.Arbitrary<Partial<T>> =>
  fc
    .record(Object.fromEntries(Object.entries(shape).map(([key, one]) => [key, seldom(one as fc.Arbitrary<unknown>)])))
    .map(
      (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>,
    )

const PRINCIPALS = [
  'cluster.local/ns/shop/sa/web',
  'example.org/ns/shop/sa/web',
  'example.*/ns/shop/sa/*',
  'old/ns/shop/sa/web',
  '*/sa/web',
  '*',
  'cluster.local/ns/shop/sa/w',
  'cluster.local/ns/*',
]

const source = dense<Source>({
  principals: some(...PRINCIPALS),
  notPrincipals: some(...PRINCIPALS),
  namespaces: some('shop', 'ba*', '*a', '*op', 's*p', '*'),
  notNamespaces: some('shop', '*nk'),
  serviceAccounts: some('web', 'shop/web', 'bank/till', 'mesh/proxy'),
  notServiceAccounts: some('web', 'bank/till'),
  trustDomains: some('cluster.local', 'example.org', 'example*', '*'),
  notTrustDomains: some('cluster.local'),
  ipBlocks: some('10.0.0.0/8', '0.0.0.0/0', '::/0'),
  notIpBlocks: some('192.168.0.0/16'),
  remoteIpBlocks: some('10.0.0.0/8'),
  requestPrincipals: some('*'),
  notRequestPrincipals: some('*'),
})

const operation = dense<Operation>({
  ports: some('80', '9080'),
  notPorts: some('80', '1'),
  methods: some('GET', 'POST', 'P*'),
  notMethods: some('POST'),
  hosts: some('details', 'DETAILS', '*.shop', 'details*'),
  notHosts: some('*.shop'),
  paths: some('/a*', '/{*}', '/a/{**}', '*c', '/b/c'),
  notPaths: some('/a'),
})

const condition = fc.constantFrom<Condition>(
  { key: 'request.headers[x]', values: ['y'] },
  { key: 'request.headers[:method]', values: ['GET'] },
  { key: 'request.headers[:authority]', notValues: ['details'] },
  { key: 'request.auth.claims[iss]', notValues: ['y'] },
  { key: 'destination.port', values: ['80'] },
  { key: 'destination.ip', values: ['10.0.0.1'] },
  { key: 'source.ip', values: ['10.0.0.0/8'] },
  { key: 'source.namespace', values: ['*op'] },
  { key: 'source.principal', notValues: ['*/sa/web'] },
  { key: 'source.serviceAccount', values: ['web'] },
  { key: 'source.trustDomain', values: ['example.org'] },
  { key: 'connection.sni', values: ['details'] },
  { key: 'remote.ip', values: ['10.0.0.0/8'] },
)

const rule: fc.Arbitrary<Rule> = dense<Rule>({
  from: fc.array(fc.record({ source }), { minLength: 1, maxLength: 2 }),
  to: fc.array(fc.record({ operation }), { minLength: 1, maxLength: 2 }),
  when: fc.array(condition, { minLength: 1, maxLength: 2 }),
})
const filledRule = fc.oneof(
  { weight: 1, arbitrary: rule },
  { weight: 3, arbitrary: rule.filter((one) => Object.keys(one).length > 0) },
)

/** Of one field, so that what it means decides. */
const narrowRule: fc.Arbitrary<Rule> = fc.oneof(
  source.filter((one) => Object.keys(one).length === 1).map((one) => ({ from: [{ source: one }] })),
  operation.filter((one) => Object.keys(one).length === 1).map((one) => ({ to: [{ operation: one }] })),
  condition.map((one) => ({ when: [one] })),
)

const reference = (kind: string, name: string, group = '') => ({ targetRefs: [{ group, kind, name }] })

const target = fc.constantFrom<AuthorizationPolicy['spec']>(
  service('details'),
  reference('Service', 'details', 'core'),
  { targetRef: { kind: 'Service', name: 'details' } },
  service('reviews'),
  reference('ServiceEntry', 'details', 'networking.istio.io'),
  reference('Gateway', 'w', GATEWAY_API),
  reference('Gateway', 'v', GATEWAY_API),
  reference('Gateway', 'ingress', GATEWAY_API),
  reference('GatewayClass', 'istio-waypoint', GATEWAY_API),
  pods('details'),
  { selector: {} },
  { selector: { matchLabels: {} } },
  { selector: { matchLabels: { [`${GATEWAY_API}/gateway-name`]: 'ingress' } } },
  {},
  {},
)

const policy: fc.Arbitrary<AuthorizationPolicy> = fc
  .record({
    target,
    action: fc.constantFrom('ALLOW', 'ALLOW', 'ALLOW', 'DENY', 'DENY', 'AUDIT', 'CUSTOM', undefined),
    rules: fc.array(filledRule, { maxLength: 2 }),
    name: fc.nat(99),
    namespace: fc.constantFrom('shop', 'shop', 'shop', 'istio-system', 'mesh'),
    dryRun: fc.constantFrom(undefined, undefined, undefined, undefined, 'true', 'T', '1', 'yes', 'false'),
  })
  .map(({ target: where, action, rules, name, namespace, dryRun }) =>
    custom(
      `p-${name}`,
      { ...where, ...(action && { action }), rules },
      { namespace, ...(dryRun && { annotations: { 'istio.io/dry-run': dryRun } }) },
    ),
  )

const mode = fc.constantFrom('UNSET', 'DISABLE', 'PERMISSIVE', 'STRICT', 'STRICT' as const)

const peerAuthentication: fc.Arbitrary<PeerAuthentication> = fc
  .record({
    namespace: fc.constantFrom('shop', 'shop', 'istio-system', 'bank'),
    name: fc.constantFrom('one', 'two'),
    created: fc.constantFrom('2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'),
    selector: fc.constantFrom(
      undefined,
      {},
      { 'app.kubernetes.io/name': 'details' },
      { 'app.kubernetes.io/name': 'x' },
    ),
    mode,
    ports: fc.dictionary(fc.constantFrom('80', '9080'), mode),
  })
  .map((one) => one as PeerAuthentication)

const labels = { 'app.kubernetes.io/name': 'details' }
const waypoint = fc.constantFrom(undefined, WAYPOINT, REMOTE)

const world: fc.Arbitrary<ClusterSnapshot> = fc
  .record({
    policies: fc.uniqueArray(policy, {
      maxLength: 4,
      selector: ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
    }),
    serviceWaypoint: waypoint,
    otherWaypoint: waypoint,
    canary: fc.constantFrom(undefined, undefined, undefined, { ...CANARY, weight: 20 }, { ...CANARY, weight: 100 }),
    podWaypoint: fc.constantFrom(undefined, undefined, WAYPOINT),
    onMesh: fc.constantFrom(true, true, true, false),
    autoAllowWaypoint: fc.constantFrom(undefined, true, false, false),
    otherRoots: fc.constantFrom(undefined, undefined, ['mesh'], ['mesh', 'root']),
    trustDomain: fc.constantFrom('cluster.local', 'example.org'),
    trustDomainAliases: fc.constantFrom(undefined, [], ['example.org'], ['example.net', 'old'], 'unknown' as const),
    peerAuthentications: fc.uniqueArray(peerAuthentication, {
      maxLength: 4,
      selector: ({ namespace, name }) => `${namespace}/${name}`,
    }),
    enforcesDryRuns: fc.constantFrom(undefined, true),
  })
  .map(({ serviceWaypoint, otherWaypoint, canary, podWaypoint, onMesh, ...rest }) => ({
    ...rest,
    rootNamespace: 'istio-system',
    services: [
      {
        ...{ namespace: 'shop', name: 'details', selector: labels, waypoint: serviceWaypoint },
        ...(serviceWaypoint && { canary }),
      },
      { namespace: 'shop', name: 'alias', selector: labels, waypoint: otherWaypoint },
      { namespace: 'shop', name: 'reviews', waypoint: WAYPOINT },
    ],
    workloads: [{ namespace: 'shop', name: 'details', labels, onMesh, waypoint: podWaypoint }],
  }))

const details = { namespace: 'shop', application: 'details' }
const ingress = { name: 'ingress', labels: { [`${GATEWAY_API}/gateway-name`]: 'ingress' } }

const call: fc.Arbitrary<AccessRequest> = fc.record({
  from: fc.record(
    {
      namespace: fc.constantFrom('shop', 'bank'),
      serviceAccount: fc.constantFrom('web', 'web', 'till', undefined),
      address: fc.constantFrom('10.1.2.3', '192.168.0.1', '2001:db8::1'),
      isGateway: fc.constantFrom(false, false, true),
    },
    { requiredKeys: ['namespace'] },
  ),
  to: fc.constantFrom<AccessRequest['to']>(
    { ...details, service: 'details' },
    { ...details, service: 'details', podPort: 9080 },
    { ...details, service: 'details', protocol: 'http' },
    { ...details, service: 'details', protocol: 'tcp' },
    details,
    { ...details, application: 'ingress', gateway: ingress },
    { ...details, application: 'ingress', gateway: ingress, protocol: 'http' },
    { ...details, application: 'ingress', gateway: { ...ingress, takesCertificates: true }, protocol: 'http' },
  ),
  port: fc.constantFrom(80, 9080),
  method: fc.constantFrom('GET', 'POST', undefined),
  path: fc.constantFrom('/a', '/b/c', undefined),
  host: fc.constantFrom('details', 'x.shop', undefined),
})

const answerOf = (asked: AccessRequest, where: ClusterSnapshot): string => {
  const { allowed, decided } = evaluate(asked, where)
  return decided ? (allowed ? 'passes' : 'is refused') : 'is not known'
}

const expectedOf = (asked: AccessRequest, where: ClusterSnapshot): string => {
  const outcomes = [...outcomesOf(asked, where)]
  return outcomes.length > 1 ? 'is not known' : outcomes[0] ? 'passes' : 'is refused'
}

test('an answer is what ztunnels, waypoints and gateways would make of it, written down a second time', () => {
  const answers: Record<string, number> = {}
  always(
    fc.property(call, world, (asked, where) => {
      const answer = answerOf(asked, where)
      answers[answer] = (answers[answer] ?? 0) + 1
      expect(answer).toBe(expectedOf(asked, where))
    }),
    4000,
  )
  // each of the three is met often enough to mean something
  for (const answer of ['passes', 'is refused', 'is not known']) expect(answers[answer]).toBeGreaterThan(least(200))
})

const onItsWay = fc.constantFrom<AuthorizationPolicy['spec']>(
  service('details'),
  reference('GatewayClass', 'istio-waypoint', GATEWAY_API),
  pods('details'),
  {},
)

test('one rule on the way of a request matches what it does in Istio', () => {
  const bare: fc.Arbitrary<ClusterSnapshot> = fc
    .record({
      where: world,
      spec: onItsWay,
      rule: fc.oneof(narrowRule, filledRule),
      action: fc.constantFrom('ALLOW', 'DENY' as const),
      dryRun: fc.boolean(),
    })
    .map(({ where, spec, rule: one, action }) => ({
      ...where,
      policies: ['shop', 'istio-system'].map((namespace) =>
        custom('p', { ...spec, action, rules: [one] }, { namespace }),
      ),
      services: [{ namespace: 'shop', name: 'details', selector: labels, waypoint: WAYPOINT }],
      workloads: [{ namespace: 'shop', name: 'details', labels, onMesh: true }],
      peerAuthentications: [],
      autoAllowWaypoint: false,
    }))
  always(
    fc.property(call, bare, (asked, where) => {
      expect(answerOf(asked, where)).toBe(expectedOf(asked, where))
    }),
    4000,
  )
})

test('plaintext is refused where istiod has it refused', () => {
  const peers = fc.uniqueArray(peerAuthentication, {
    maxLength: 5,
    selector: ({ namespace, name }) => `${namespace}/${name}`,
  })
  const answers = new Set<string>()
  always(
    fc.property(peers, fc.constantFrom(80, 9080), (peerAuthentications, port) => {
      const asked = { from: { namespace: 'legacy' }, to: details, port }
      const where: ClusterSnapshot = {
        policies: [],
        rootNamespace: 'istio-system',
        trustDomain: 'cluster.local',
        services: [],
        workloads: [{ namespace: 'shop', name: 'details', labels, onMesh: true }],
        peerAuthentications,
      }
      answers.add(answerOf(asked, where))
      expect(answerOf(asked, where)).toBe(expectedOf(asked, where))
    }),
    3000,
  )
  expect(answers).toEqual(new Set(['passes', 'is refused']))
})

test('what is not asked changes no answer that is decided', () => {
  const completed = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT'),
    path: fc.constantFrom('/a', '/b/c', '/z'),
    host: fc.constantFrom('details', 'x.shop', 'other'),
  })
  always(
    fc.property(call, world, completed, (asked, where, { method, path, host }) => {
      const before = answerOf(asked, where)
      if (before === 'is not known') return
      const { from } = asked
      const whole = {
        ...asked,
        from: { ...from, address: from.address ?? '10.1.2.3' },
        method: asked.method ?? method,
        path: asked.path ?? path,
        host: asked.host ?? host,
      }
      const after = answerOf(whole, { ...where, autoAllowWaypoint: where.autoAllowWaypoint ?? true })
      expect(after).toBe(before)
    }),
    3000,
  )
})
