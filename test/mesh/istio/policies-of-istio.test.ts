import { describe, expect, test } from 'vitest'
import { parseRequesters, REQUESTED_BY, requestedBy } from '../../../src/core/policies/requested-by.ts'
import { attachmentKey, isForAll, isGuarding } from '../../../src/mesh/istio/attachment.ts'
import { auditPolicies } from '../../../src/mesh/istio/audit.ts'
import {
  type AuthorizationPolicySpec,
  authorizationPolicy,
  isDenying,
  isForNoPods,
  isForPods,
  targetsOf,
} from '../../../src/mesh/istio/authorization-policy.ts'
import { isDryRun, isDryRunValue } from '../../../src/mesh/istio/dry-run.ts'
import { resolveIdentities } from '../../../src/mesh/istio/identities.ts'
import { istio } from '../../../src/mesh/istio/mesh.ts'
import { discovers, readMeshConfig } from '../../../src/mesh/istio/mesh-config.ts'
import { accountOf, gatewayAccount, namedWaypoint } from '../../../src/mesh/istio/names.ts'
import { mergeRights, parseRights, sorted } from '../../../src/mesh/istio/operations.ts'
import { splitGrantees, widenRules } from '../../../src/mesh/istio/policy-parts.ts'
import { rawPolicies } from '../../../src/mesh/istio/raw-policies.ts'
import { principalsIn, valuesIn } from '../../../src/mesh/istio/rule-values.ts'
import { rulesFor } from '../../../src/mesh/istio/rules.ts'
import { findTrustDomains } from '../../../src/mesh/istio/trust-domains.ts'
import { isOlder, readIstioVersion, versionName } from '../../../src/mesh/istio/version.ts'
import { isServing, waypointPrincipals } from '../../../src/mesh/istio/waypoint.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { SUBJECT } from '../../helpers/world.ts'

const policy = (name: string, spec: AuthorizationPolicySpec, annotations?: Record<string, string>) =>
  authorizationPolicy({ metadata: { name, namespace: 'shop', ...(annotations && { annotations }) }, spec })

const SERVICE = { targetRefs: [{ group: '', kind: 'Service', name: 'web' }] }
const PODS = { selector: { matchLabels: { app: 'web' } } }
const GATEWAY = { targetRefs: [{ kind: 'Gateway', name: 'a' }] }

describe('policies in audit mode', () => {
  const asked = (...names: string[]) => ({ [REQUESTED_BY]: requestedBy(names) })
  const audited = (requesters: 'all' | string[], ...objects: KubernetesObject[]) => {
    const { objects: left, messages } = auditPolicies(objects, requesters)
    return [left.map((object) => `${object.metadata.name}${isDryRun(object) ? ' dry' : ''}`), messages]
  }
  const UNSEEN = expect.stringContaining('are not shown here')

  test('policies in audit mode are dry runs at waypoints, and left out at pods and external authorizers', () => {
    const custom = policy('custom', { ...SERVICE, action: 'CUSTOM' })
    expect(audited('all', policy('service', SERVICE), policy('pods', PODS), custom)).toEqual([
      ['service dry'],
      [
        'enforcement is audit: these policies are left out, because ztunnels and external authorizers support no dry run: shop/pods and shop/custom',
        UNSEEN,
      ],
    ])
  })

  test('policies in audit mode that are all left out leave nothing to be seen', () => {
    expect(audited('all', policy('pods', PODS))).toEqual([[], [expect.stringContaining('left out')]])
  })

  test('policies in audit mode that decide nothing anyway, and other objects, stay as they are', () => {
    const file: KubernetesObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'file' } }
    expect(audited('all', policy('audit', { ...PODS, action: 'AUDIT' }), file)).toEqual([['audit', 'file'], []])
    expect(audited([], policy('service', SERVICE))).toEqual([['service'], []])
  })

  test('policies in audit mode are those that only audited requesters ask for', () => {
    const objects = [
      policy('a', SERVICE, asked('a')),
      policy('both', SERVICE, asked('a', 'b')),
      policy('nobody', SERVICE),
    ]
    expect(audited(['a'], ...objects)).toEqual([['a dry', 'both', 'nobody'], [UNSEEN]])
    expect(audited(['a', 'b'], ...objects)).toEqual([['a dry', 'both dry', 'nobody'], [UNSEEN]])
    expect(audited(['c'], ...objects)).toEqual([['a', 'both', 'nobody'], []])
  })
})

describe('the relations that requested a policy', () => {
  test('the relations that requested a policy are sorted, distinct, and read as they were written', () => {
    const names = ['b, c', 'a', 'a', '100%']
    expect(requestedBy(names)).toBe('100%25, a, b%2C c')
    expect(parseRequesters(policy('a', {}, { [REQUESTED_BY]: requestedBy(names) }))).toEqual(['100%', 'a', 'b, c'])
    expect(parseRequesters(policy('a', {}, { [REQUESTED_BY]: '' }))).toEqual([])
    expect(parseRequesters(policy('a', {}))).toEqual([])
  })

  test('the relations that requested a policy are counted beyond 32 KiB', () => {
    const names = Array.from({ length: 33 }, (_, index) => `${String(index).padStart(2, '0')}${'x'.repeat(1020)}`)
    expect(requestedBy(names.slice(0, 32))).not.toContain('more')
    expect(requestedBy(names).split(', ').at(-1)).toBe('and 1 more')
    expect(requestedBy(names).split(', ')).toHaveLength(33)
  })
})

describe('the target of a policy', () => {
  test('the target of a policy has one key, however it is written', () => {
    const key = (spec: AuthorizationPolicySpec) => attachmentKey(policy('a', spec))
    const [a, b] = [
      { kind: 'Service', name: 'a' },
      { kind: 'Service', name: 'b', group: '', namespace: '' },
    ]
    expect(key({ targetRefs: [a, b] })).toBe(key({ targetRefs: [b, a] }))
    expect(key({ targetRef: a })).toBe(key({ targetRefs: [{ ...a, group: '', namespace: '' }] }))
    expect(key({ selector: { matchLabels: { a: '1', b: '2' } } })).toBe(
      key({ selector: { matchLabels: { b: '2', a: '1' } } }),
    )
    expect(key({})).toBe(key({ selector: {} }))
    expect(new Set([{}, PODS, SERVICE, GATEWAY, { targetRefs: [a, b] }].map(key)).size).toBe(5)
    expect(attachmentKey(policy('a', {}))).not.toBe(
      attachmentKey({ ...policy('a', {}), metadata: { name: 'a', namespace: 'other' } }),
    )
    expect(attachmentKey({ ...policy('a', {}), spec: undefined } as never)).toBe(key({}))
  })

  test('the target of a policy is everything without a selector and without targets but waypoints', () => {
    const all = [{}, { selector: { matchLabels: {} } }, { targetRefs: [{ kind: 'GatewayClass', name: 'a' }] }]
    expect(all.map((spec) => isForAll(policy('a', spec)))).toEqual([true, true, true])
    const some = [
      PODS,
      SERVICE,
      { targetRef: SERVICE.targetRefs[0] },
      { targetRefs: [{ kind: 'GatewayClass', name: 'a' }, ...SERVICE.targetRefs] },
    ]
    expect(some.map((spec) => isForAll(policy('a', spec as AuthorizationPolicySpec)))).toEqual([
      false,
      false,
      false,
      false,
    ])
  })

  test('the target of a policy is guarded by its label or its Service', () => {
    const isOf = (spec: AuthorizationPolicySpec, ...names: string[]) => isGuarding(policy('a', spec), names)
    expect(isOf(PODS, 'db', 'web')).toBe(true)
    expect(isOf(PODS, 'db')).toBe(false)
    expect(isOf(SERVICE, 'web')).toBe(true)
    expect(isOf(SERVICE, 'db')).toBe(false)
    expect(isOf({ targetRefs: [{ kind: 'Gateway', name: 'web' }] }, 'web')).toBe(false)
    expect(isOf({}, 'web')).toBe(false)
  })

  test('the targets of a policy are those of either form', () => {
    expect([isForPods({}), isForPods(SERVICE), isForPods({ targetRef: { kind: 'a', name: 'a' } })]).toEqual([
      true,
      false,
      false,
    ])
    expect(targetsOf({ targetRef: { kind: 'a', name: 'a' } })).toEqual([{ kind: 'a', name: 'a' }])
    expect(targetsOf({ ...SERVICE, targetRef: { kind: 'a', name: 'a' } })).toEqual(SERVICE.targetRefs)
    expect(targetsOf({})).toEqual([])
    expect([isForNoPods({}), isForNoPods({ selector: {} }), isForNoPods({ selector: { matchLabels: {} } })]).toEqual([
      false,
      true,
      false,
    ])
  })
})

test.each<[string, AuthorizationPolicySpec, boolean]>([
  ['an ALLOW without rules', {}, true],
  ['an ALLOW with a rule', { rules: [{}] }, false],
  ['a guard of pods', PODS, false],
  ['a guard of a Service', SERVICE, false],
  ['an ALLOW of a Gateway without rules', GATEWAY, true],
  [
    'an ALLOW of a Gateway and a Service without rules',
    { targetRefs: [...GATEWAY.targetRefs, ...SERVICE.targetRefs] },
    true,
  ],
  ['a DENY of pods', { ...PODS, action: 'DENY', rules: [{}] }, true],
  ['a CUSTOM of a Service', { ...SERVICE, action: 'CUSTOM', rules: [{}] }, true],
  ['an AUDIT with a rule', { action: 'AUDIT', rules: [{}] }, false],
])('a policy denies requests of all clients: %s', (_, spec, expected) => {
  expect(isDenying(policy('a', spec))).toBe(expected)
  expect(isDenying(policy('a', spec, { 'istio.io/dry-run': 'true' }))).toBe(false)
  expect(isDenying({ ...policy('a', spec), kind: 'Other' })).toBe(false)
})

test('the annotation of a dry run is read as Go does', () => {
  const values = ['1', 't', 'T', 'true', 'TRUE', 'True', '0', 'f', 'F', 'false', 'FALSE', 'False', 'yes', '']
  expect(values.map(isDryRunValue)).toEqual([...Array.from({ length: 12 }, () => true), false, false])
  expect(values.map((value) => isDryRun(policy('a', {}, { 'istio.io/dry-run': value })))).toEqual(
    values.map((_, index) => index < 6),
  )
  expect(isDryRun(policy('a', {}))).toBe(false)
})

describe('who calls', () => {
  test('who calls is known by the trust domains of a namespace, and by accounts', () => {
    expect(findTrustDomains({}, 'shop')).toEqual(['cluster.local'])
    expect(findTrustDomains({ trustDomain: 'a', trustDomainAliases: ['b', 'a'] }, 'shop')).toEqual(['a', 'b'])
    expect(findTrustDomains({ trustDomains: { shop: 'c', data: ['d', 'e'] } }, 'shop')).toEqual(['c'])
    expect(findTrustDomains({ trustDomains: { data: ['d', 'e'] } }, 'data')).toEqual(['d', 'e'])
    const { trustDomain, trustDomains, serviceAccount } = resolveIdentities({
      trustDomain: 'a',
      serviceAccounts: { 'shop/web': 'b' },
    })
    expect([
      trustDomain,
      trustDomains?.('shop'),
      serviceAccount?.('shop', 'web'),
      serviceAccount?.('shop', 'db'),
    ]).toEqual(['a', ['a'], 'b', 'db'])
    expect(resolveIdentities({ trustDomain: 'a', mesh: { trustDomain: 'm' } }).trustDomain).toBe('m')
    expect(resolveIdentities().trustDomain).toBe('cluster.local')
  })

  test('who calls is one account, or a pattern of several', () => {
    expect(accountOf('a/ns/b/sa/c')).toEqual({ trustDomain: 'a', namespace: 'b', serviceAccount: 'c' })
    expect(
      ['*/ns/b/sa/c', 'a/ns/*/sa/c', 'a/ns/b/sa/*', 'a/ns/b', 'a/ns/b/sa/c/d'].map(
        (text) => accountOf(text) !== undefined,
      ),
    ).toEqual([true, false, false, false, false])
    expect(gatewayAccount({ 'gateway.istio.io/service-account': 'a' }, 'b')).toBe('a')
    expect(gatewayAccount(undefined, 'b')).toBe('b')
  })

  test('who calls through the waypoint of a beacon is that waypoint, unless there is none', () => {
    expect(waypointPrincipals(SUBJECT, { trustDomain: 'a' })).toEqual(['a/ns/shop/sa/shop-web-waypoint'])
    expect([waypointPrincipals(SUBJECT, { waypoint: false }), waypointPrincipals(SUBJECT, { units: 0 })]).toEqual([
      [],
      [],
    ])
  })

  test('the waypoint that labels name is in their namespace, or in the named one', () => {
    expect(namedWaypoint({ 'istio.io/use-waypoint': 'a' }, 'shop')).toEqual({ namespace: 'shop', name: 'a' })
    expect(namedWaypoint({ 'istio.io/use-waypoint': 'a', 'istio.io/use-waypoint-namespace': 'b' }, 'shop')).toEqual({
      namespace: 'b',
      name: 'a',
    })
    expect(namedWaypoint({ 'istio.io/use-waypoint': 'none' }, 'shop')).toBeUndefined()
    expect(namedWaypoint(undefined, 'shop')).toBeUndefined()
  })

  test('a waypoint serves once a pod of it is ready, or where that is unknown', () => {
    const NAME = 'Deployment shop/shop-web-waypoint'
    const deployment = (readyReplicas?: number): KubernetesObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      ...(readyReplicas !== undefined && { status: { readyReplicas } }),
    })
    const serves = (found: KubernetesObject | undefined, mesh = {}) =>
      isServing(SUBJECT, mesh, new Map([[NAME, found]]))
    expect([
      serves(deployment(1)),
      serves(deployment(0)),
      serves(deployment()),
      serves(undefined),
      serves(undefined, { waypoint: false }),
    ]).toEqual([true, false, false, false, true])
    expect(isServing(SUBJECT, {}, new Map([[NAME, { problem: 'no' }]]) as never)).toBe(true)
  })

  test('labels may be asked for by the beacon whose waypoint they name, and by anybody where it is no waypoint of a beacon', () => {
    const mayAsk = (waypoint: string) =>
      istio.mayAskFor({ namespace: 'shop', application: 'beacon' }, { 'istio.io/use-waypoint': waypoint })
    expect([mayAsk('shop-beacon-waypoint'), mayAsk('shop-other-waypoint'), mayAsk('mine')]).toEqual([true, false, true])
    expect(istio.mayAskFor(SUBJECT, {})).toBe(true)
    expect(istio.ledBy({ namespace: 'shop', application: 'beacon' })).toBe(
      'istio.io/dataplane-mode=ambient,istio.io/use-waypoint=shop-beacon-waypoint,istio.io/use-waypoint-namespace=shop',
    )
  })
})

describe('the config of Istio', () => {
  const config = (mesh: string | undefined, metadata: object = {}): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'istio', namespace: 'istio-system', ...metadata } },
    ...(mesh !== undefined && { data: { mesh } }),
  })

  test('the config of Istio has defaults', () => {
    const defaults = {
      rootNamespace: 'istio-system',
      trustDomain: 'cluster.local',
      trustDomainAliases: [],
      discoverySelectors: [],
      version: undefined,
    }
    expect(readMeshConfig(config(''))).toEqual(defaults)
    expect(readMeshConfig(config(undefined))).toEqual(defaults)
    expect(readMeshConfig(config('', { namespace: undefined }))).toEqual(defaults)
    expect(readMeshConfig(config('', { namespace: 'other' }))?.rootNamespace).toBe('other')
    expect(readMeshConfig(config('trustDomain: 7'))).toBeUndefined()
    expect(readMeshConfig(config('{'))).toBeUndefined()
    expect(
      readMeshConfig(
        config('rootNamespace: r\ntrustDomain: t\ntrustDomainAliases: [a]', {
          labels: { 'app.kubernetes.io/version': '1.27.1' },
        }),
      ),
    ).toMatchObject({
      ...{ rootNamespace: 'r', trustDomain: 't', trustDomainAliases: ['a'], version: [1, 27, 1] },
    })
  })

  test('the config of Istio discovers namespaces that one of its selectors selects', () => {
    const of = (...matchLabels: Record<string, string>[]) =>
      discovers(
        { discoverySelectors: matchLabels.map((labels) => ({ matchLabels: labels, matchExpressions: [] })) },
        { a: 'b' },
      )
    expect([of(), of({ a: 'b' }), of({ a: 'c' }), of({ a: 'c' }, { a: 'b' })]).toEqual([true, true, false, true])
  })

  test('the version of Istio is that of its chart', () => {
    const version = (label: string | undefined) =>
      readIstioVersion({
        metadata: { name: 'a', ...(label !== undefined && { labels: { 'app.kubernetes.io/version': label } }) },
      })
    expect(['1.25.3', 'v1.25', '1.26.0-rc.1', 'latest', undefined].map(version)).toEqual([
      [1, 25, 3],
      [1, 25, 0],
      [1, 26, 0],
      undefined,
      undefined,
    ])
    expect(versionName([1, 25, 0])).toBe('1.25.0')
    expect(
      [
        [1, 24, 9],
        [1, 25, 0],
        [1, 25, 1],
        [0, 99, 0],
        [2, 0, 0],
      ].map((one) => isOlder(one as never, [1, 25, 0])),
    ).toEqual([true, false, false, true, false])
    expect(isOlder(undefined, [1, 25, 0])).toBe(false)
  })
})

describe('rights at a target', () => {
  const wire = (endpoints: object[], target_type: 'app' | 'unit' = 'app') =>
    ({ endpoints, target_type }) as Parameters<typeof parseRights>[0]

  test('rights at a target are everything without endpoints, and those of its endpoints otherwise', () => {
    expect(parseRights(wire([]))).toBe('everything')
    expect(
      parseRights(
        wire([
          { ports: [443, 80, 80], methods: ['POST', 'GET'] },
          { paths: [] },
          { ports: [80, 443], methods: ['GET', 'POST'] },
        ]),
      ),
    ).toEqual([{ ports: ['80', '443'], methods: ['GET', 'POST'] }])
    expect(parseRights(wire([{ ports: [80] }, { ports: [81], methods: ['GET'] }], 'unit'))).toEqual([{ ports: ['80'] }])
    expect(sorted([10, 9, 1])).toEqual(['1', '9', '10'])
    expect(sorted(['b', 'a', 'b'])).toEqual(['a', 'b'])
  })

  test('rights at a target are merged, and everything outweighs the rest', () => {
    const [one, other] = [[{ ports: ['80'] }], [{ methods: ['GET'] }]]
    expect(mergeRights([one, other, one])).toEqual([{ methods: ['GET'] }, { ports: ['80'] }])
    expect(mergeRights([one, 'everything'])).toBe('everything')
    expect(mergeRights([])).toEqual([])
  })

  const grantee = (principal: string, ports: string[] = ['80']) => ({ principal, rights: [{ ports }], relations: [] })

  test('rights at a target are one rule for those who share them', () => {
    expect(
      rulesFor([
        grantee('b'),
        grantee('a'),
        grantee('c', ['81']),
        { principal: 'd', rights: 'everything', relations: [] },
      ]),
    ).toEqual([
      ...[{ from: [{ source: { principals: ['d'] } }] }],
      ...[{ from: [{ source: { principals: ['a', 'b'] } }], to: [{ operation: { ports: ['80'] } }] }],
      ...[{ from: [{ source: { principals: ['c'] } }], to: [{ operation: { ports: ['81'] } }] }],
    ])
  })

  test('rights at a target are divided until each part fits, and a part of one is not', () => {
    const holders = ['a', 'b', 'c', 'd'].map((name, index) => grantee(name, [String(index)]))
    const parts = splitGrantees(holders, { rules: 1, bytes: 1024 })
    expect(parts.map(({ holders: some }) => some.length)).toEqual([1, 1, 1, 1])
    expect(new Set(parts.flatMap(({ holders: some }) => some.map(({ principal }) => principal))).size).toBe(4)
    expect(new Set(parts.map(({ path }) => path)).size).toBe(4)
    expect(splitGrantees(holders, { rules: 4, bytes: 1024 })).toEqual([{ path: '', holders }])
    expect(splitGrantees([], { rules: 0, bytes: 0 })).toEqual([{ path: '', holders: [] }])
    expect(splitGrantees(holders.slice(0, 1), { rules: 0, bytes: 0 })).toHaveLength(1)
    const bytes = Buffer.byteLength(JSON.stringify(rulesFor(holders)))
    expect([
      splitGrantees(holders, { rules: 9, bytes }).length,
      splitGrantees(holders, { rules: 9, bytes: bytes - 1 }).length > 1,
    ]).toEqual([1, true])
  })

  test('rights at a target are widened to all principals and all operations', () => {
    const rule = (names: string[], ports?: string[]) => ({
      from: [{ source: { principals: names } }],
      ...(ports && { to: [{ operation: { ports } }] }),
    })
    expect(widenRules([rule(['b'], ['80']), rule(['a', 'b'], ['81']), rule(['a'], ['80'])])).toEqual([
      {
        from: [{ source: { principals: ['a', 'b'] } }],
        to: [{ operation: { ports: ['80'] } }, { operation: { ports: ['81'] } }],
      },
    ])
    expect(widenRules([rule(['b'], ['80']), rule(['a'])])).toEqual([rule(['a', 'b'])])
    expect([
      widenRules([]),
      widenRules([{}]),
      widenRules([rule(['a']), { from: [{ source: {} }] }]),
      widenRules([rule(['a']), rule([])]),
    ]).toEqual([undefined, undefined, undefined, undefined])
    expect(widenRules([rule(['x'.repeat(1024 * 1024)])])).toBeUndefined()
  })

  test('rights at a target are widened for several policies that allow', () => {
    const allowing = (name: string) =>
      policy(name, { ...SERVICE, action: 'ALLOW', rules: [{ from: [{ source: { principals: [name] } }] }] })
    expect(istio.widened([allowing('a'), allowing('b')])?.spec).toMatchObject({
      rules: [{ from: [{ source: { principals: ['a', 'b'] } }] }],
    })
    expect(istio.widened([allowing('a'), allowing('b')])?.metadata.name).toBe('a')
    expect(istio.widened([allowing('a')])).toBeUndefined()
    expect(istio.widened([allowing('a'), policy('b', { action: 'DENY', rules: [{}] })])).toBeUndefined()
    expect(istio.widened([])).toBeUndefined()
  })
})

test('the values of a rule are those of its fields and its conditions', () => {
  const rule = {
    from: [{ source: { principals: ['a'], notNamespaces: ['b'], ipBlocks: [] } }, {}],
    to: [{ operation: { paths: ['c'] } }],
    when: [{ key: 'source.principal', values: ['d'], notValues: ['e'] }, { key: 'source.ip' }],
  }
  expect(valuesIn(rule)).toEqual([
    { of: 'source.principal', values: ['a'], isExcluding: false },
    { of: 'source.namespace', values: ['b'], isExcluding: true },
    { of: 'path', values: ['c'], isExcluding: false },
    { of: 'source.principal', values: ['d'], isExcluding: false },
    { of: 'source.principal', values: ['e'], isExcluding: true },
  ])
  expect(principalsIn(rule)).toEqual(['a', 'd', 'e'])
  expect(valuesIn({})).toEqual([])
})

test('a policy of a person is in the namespace of its application, with the labels of its owner', () => {
  const raw = (
    metadata: {
      name: string
      namespace?: string
      labels?: Record<string, string>
      annotations?: Record<string, string>
    },
    spec?: AuthorizationPolicySpec,
  ) =>
    rawPolicies({ ...SUBJECT, labels: { owner: 'web' } }, [
      { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata, ...(spec && { spec }) },
    ])
  expect(raw({ name: 'a', labels: { owner: 'me', team: 'b' }, annotations: { c: 'd' } }, PODS)).toMatchObject([
    {
      metadata: {
        name: 'a',
        namespace: 'shop',
        labels: { owner: 'web', team: 'b' },
        annotations: { c: 'd', [REQUESTED_BY]: 'config of shop/web' },
      },
      spec: PODS,
    },
  ])
  expect(raw({ name: 'a', namespace: 'other' })).toMatchObject([{ metadata: { namespace: 'other' }, spec: {} }])
})
