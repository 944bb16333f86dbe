import { describe, expect, test } from 'vitest'
import {
  type AuthorizationPolicySpec,
  authorizationPolicy,
  type Rule,
} from '../../../src/mesh/istio/authorization-policy.ts'
import { mistakeWarnings, policyMistakes } from '../../../src/mesh/istio/policy-mistakes.ts'
import type { WaypointPort } from '../../../src/mesh/istio/tcp-mistakes.ts'
import { asTcpSees } from '../../../src/mesh/istio/visible-rule.ts'
import { asZtunnelSees } from '../../../src/mesh/istio/ztunnel.ts'

const policy = (spec: AuthorizationPolicySpec, metadata: object = {}) =>
  authorizationPolicy({ metadata: { name: 'a', namespace: 'shop', ...metadata }, spec })

const mistakes = (
  spec: AuthorizationPolicySpec,
  { metadata = {}, roots = undefined as string[] | undefined, ports = undefined as WaypointPort[] | undefined } = {},
) => policyMistakes(policy(spec, metadata), roots, ports).map(({ id, says }) => `${id}: ${says}`)

const PODS = { selector: { matchLabels: { app: 'web' } } }
const SERVICE = { targetRefs: [{ kind: 'Service', name: 'web' }] }
const FROM = { from: [{ source: { principals: ['a/ns/b/sa/c'] } }] }

const methods = (...names: string[]): Rule => ({ ...FROM, to: [{ operation: { methods: names } }] })

describe('a policy of pods', () => {
  test.each<[string, AuthorizationPolicySpec, string[]]>([
    ['has no mistakes', { ...PODS, rules: [FROM] }, []],
    [
      'audits',
      { ...PODS, action: 'AUDIT' },
      ['policy-ineffective: has no effect at pods, whose ztunnel knows no AUDIT: it needs targetRefs'],
    ],
    [
      'asks a provider',
      { ...PODS, action: 'CUSTOM', rules: [methods('GET')] },
      ['policy-ineffective: has no effect at pods, whose ztunnel knows no CUSTOM: it needs targetRefs'],
    ],
    [
      'has a selector without labels',
      { selector: { matchLabels: {} } },
      ['selects-all: selects by no label, and so all pods of its namespace'],
    ],
    [
      'has an empty selector',
      { selector: {} },
      ['policy-ineffective: has no effect at pods, as its selector has no matchLabels: leave the selector out'],
    ],
    ['has no selector', {}, []],
    [
      'allows a method',
      { ...PODS, rules: [FROM, methods('GET')] },
      [
        'http-without-waypoint: matches nothing at pods by rules[1], of which a ztunnel cannot see methods: it lets in nobody',
      ],
    ],
    [
      'denies a method',
      { ...PODS, action: 'DENY', rules: [methods('GET')] },
      [
        'http-without-waypoint: matches nothing at pods by rules[0], of which a ztunnel cannot see methods: it refuses nothing',
      ],
    ],
    [
      'denies a method on a port',
      { ...PODS, action: 'DENY', rules: [{ to: [{ operation: { methods: ['GET'], ports: ['80'] } }] }] },
      ['http-without-waypoint: denies more at pods than rules[0] says, as a ztunnel cannot see methods'],
    ],
    [
      'allows an account of a trust domain',
      { ...PODS, rules: [{ from: [{ source: { trustDomains: ['a'], namespaces: ['b'] } }] }] },
      ['trust-domain-unseen: matches more at pods than rules[0] says, as a ztunnel does not look at trust domains'],
    ],
    [
      'allows a trust domain',
      { ...PODS, rules: [{ from: [{ source: { notTrustDomains: ['a'] } }] }] },
      [
        'trust-domain-unseen: matches nothing at pods by rules[0], of which a ztunnel cannot see trustDomains or notTrustDomains: it lets in nobody',
      ],
    ],
  ])('a policy of pods that %s', (_, spec, expected) => {
    expect(mistakes(spec)).toEqual(expected)
  })

  test('a policy of pods that is a dry run has no effect, unless it is one of a waypoint', () => {
    const metadata = { annotations: { 'istio.io/dry-run': 'true' } }
    expect(mistakes(PODS, { metadata })).toEqual([
      'policy-ineffective: has no effect at pods, whose ztunnel ignores dry runs',
    ])
    expect(mistakes(SERVICE, { metadata })).toEqual([])
  })

  test('a policy of pods is named in warnings', () => {
    expect(mistakeWarnings(policy({ selector: {} }), ['istio-system'])).toEqual([
      'AuthorizationPolicy shop/a has no effect at pods, as its selector has no matchLabels: leave the selector out',
    ])
  })
})

describe('a rule as a ztunnel sees it', () => {
  const DROPPED = { never: 'a part of it has no field that a ztunnel sees, and so never matches' }

  test.each<[string, Rule, 'ALLOW' | 'DENY', object]>([
    [
      'keeps what it sees',
      { ...FROM, to: [{ operation: { ports: ['80'] } }], when: [{ key: 'source.ip', values: ['a'] }] },
      'ALLOW',
      { rule: { ...FROM, to: [{ operation: { ports: ['80'] } }], when: [{ key: 'source.ip', values: ['a'] }] } },
    ],
    ['matches everything where it is empty', {}, 'ALLOW', { rule: {} }],
    [
      'loses one of two sources',
      { from: [{ source: { requestPrincipals: ['a'] } }, ...FROM.from] },
      'DENY',
      { rule: FROM },
    ],
    [
      'never matches without its only source',
      { from: [{ source: { remoteIpBlocks: ['a'] } }] },
      'DENY',
      { never: 'its remoteIpBlocks cannot be seen by a ztunnel' },
    ],
    ['never matches by a source without fields', { from: [{}] }, 'ALLOW', DROPPED],
    ['never matches by an operation without fields', { to: [{ operation: { ports: [] } }] }, 'DENY', DROPPED],
    ['never matches by a condition without values', { when: [{ key: 'source.ip' }] }, 'DENY', DROPPED],
    [
      'never matches by a condition of requests',
      { when: [{ key: 'request.host', values: ['a'] }] },
      'DENY',
      { never: 'its request.host cannot be seen by a ztunnel' },
    ],
    [
      'matches by a condition of what is excluded',
      { when: [{ key: 'destination.port', notValues: ['1'] }] },
      'ALLOW',
      { rule: { when: [{ key: 'destination.port', notValues: ['1'] }] } },
    ],
    ['never allows by HTTP', methods('GET'), 'ALLOW', { never: 'its methods cannot be seen by a ztunnel' }],
  ])('a rule as a ztunnel sees it %s', (_, rule, action, seen) => {
    expect(asZtunnelSees(rule, action)).toEqual(seen)
  })
})

describe('a rule on a port of TCP', () => {
  const HTTP = {
    from: [{ source: { requestPrincipals: ['a'], namespaces: ['b'] } }],
    to: [{ operation: { paths: ['/'], ports: ['80'] } }],
    when: [
      { key: 'request.host', values: ['a'] },
      { key: 'source.ip', values: ['b'] },
    ],
  }

  test('a rule on a port of TCP never allows by HTTP, and otherwise loses its fields of HTTP', () => {
    expect(asTcpSees(HTTP, 'ALLOW')).toEqual({
      never: 'its requestPrincipals, paths or request.host cannot be seen on a port that carries TCP',
    })
    expect(asTcpSees(HTTP, 'DENY')).toEqual({
      rule: {
        ...{ from: [{ source: { namespaces: ['b'] } }], to: [{ operation: { ports: ['80'] } }] },
        when: [{ key: 'source.ip', values: ['b'] }],
      },
    })
    expect(asTcpSees(FROM, 'ALLOW')).toEqual({ rule: FROM })
    expect(asTcpSees({ to: [{ operation: { methods: [] } }] }, 'ALLOW')).toMatchObject({ rule: {} })
  })

  const port = (number: number, protocol?: 'http' | 'tcp'): WaypointPort => ({ port: number, protocol })
  const at = (action: AuthorizationPolicySpec['action'], rule: Rule, ...ports: WaypointPort[]) =>
    mistakes({ ...SERVICE, action, rules: [rule] }, { ports })
  const GET = { to: [{ operation: { methods: ['GET'] } }] }
  const on = (...ports: string[]): Rule => ({ to: [{ operation: { methods: ['GET'], ports } }] })

  const closed = (which: string) => [
    `allow-on-tcp: lets in nobody by rules[0] on port ${which}: its methods cannot be seen on a port that carries TCP`,
  ]

  test.each<[string, Rule, WaypointPort[], string[]]>([
    ['no port of TCP', GET, [port(80, 'http'), port(81)], []],
    ['only ports of TCP', GET, [port(80, 'tcp'), port(81, 'tcp')], closed('80 and 81')],
    ['one port of TCP beside another', GET, [port(80, 'tcp'), port(81, 'http')], []],
    ['a named port of TCP beside another', on('80', '81'), [port(80, 'tcp'), port(81, 'http')], closed('80')],
    ['a named port of TCP alone', on('80'), [port(80, 'tcp'), port(81, 'http')], closed('80')],
    ['a port of TCP at one of two targets', GET, [port(80, 'tcp'), port(80, 'http')], []],
    ['a port that it excludes', { to: [{ operation: { methods: ['GET'], notPorts: ['80'] } }] }, [port(80, 'tcp')], []],
    [
      'a port that a condition names',
      { ...GET, when: [{ key: 'destination.port', values: ['80'] }] },
      [port(80, 'tcp'), port(81, 'tcp')],
      closed('80'),
    ],
    [
      'a port that a condition excludes',
      { ...GET, when: [{ key: 'destination.port', notValues: ['80'] }] },
      [port(80, 'tcp')],
      [],
    ],
    [
      'a port that a condition names beside another',
      { ...GET, when: [{ key: 'destination.port', values: ['80', '81'] }] },
      [port(80, 'tcp'), port(81, 'http')],
      closed('80'),
    ],
  ])('a rule that allows by HTTP, with %s', (_, rule, ports, expected) => {
    expect(at('ALLOW', rule, ...ports)).toEqual(expected)
  })

  test('a rule that allows by HTTP is no mistake where ports are unknown, or it has no fields of HTTP', () => {
    expect(mistakes({ ...SERVICE, rules: [GET] })).toEqual([])
    expect(at('ALLOW', FROM, port(80, 'tcp'))).toEqual([])
    expect(at('AUDIT', GET, port(80, 'tcp'))).toEqual(['policy-ineffective: decides nothing, as its action is AUDIT'])
    expect(at('CUSTOM', GET, port(80, 'tcp'))).toEqual([])
  })

  const wide = (what: string, which: string) => [
    `deny-on-tcp: denies ${what} on port ${which}, which carries TCP, where nobody sees HTTP`,
  ]

  test.each<[string, Rule, WaypointPort[], string[]]>([
    ['everything on a port of TCP', GET, [port(80, 'tcp')], wide('everything by rules[0]', '80')],
    [
      'more than it says on a port of TCP',
      { ...FROM, ...GET },
      [port(80, 'tcp')],
      wide('more by rules[0] than it says', '80'),
    ],
    [
      'more on the port that it names',
      on('80'),
      [port(80, 'tcp'), port(81, 'tcp')],
      wide('more by rules[0] than it says', '80'),
    ],
    ['no more than it says of HTTP', GET, [port(80, 'http')], []],
    [
      'no more where another operation has the port',
      { to: [...(GET.to ?? []), { operation: { ports: ['80'] } }] },
      [port(80, 'tcp')],
      [],
    ],
    [
      'more where another operation has another port',
      { to: [...(GET.to ?? []), { operation: { ports: ['81'] } }] },
      [port(80, 'tcp')],
      wide('everything by rules[0]', '80'),
    ],
    [
      'more by a source of HTTP',
      { from: [{ source: { requestPrincipals: ['a'] } }], to: [{ operation: { ports: ['80'] } }] },
      [port(80, 'tcp')],
      wide('more by rules[0] than it says', '80'),
    ],
    [
      'everything where a connection is not HTTP',
      GET,
      [port(80)],
      [
        'deny-on-tcp: denies everything by rules[0] on port 80 where a connection is not HTTP: name the protocol of the port in the Service',
      ],
    ],
    ['no more than it says where a connection is inspected', { ...FROM, ...GET }, [port(80)], []],
    ['no more than it says without HTTP', FROM, [port(80, 'tcp')], []],
  ])('a rule that denies %s', (_, rule, ports, expected) => {
    expect(at('DENY', rule, ...ports)).toEqual(expected)
  })

  test('a rule that denies by HTTP alone is a mistake where ports are unknown', () => {
    const told = [
      'deny-on-tcp: denies everything by rules[0] on ports that carry TCP, where nobody sees HTTP: name its ports',
    ]
    expect(mistakes({ ...SERVICE, action: 'DENY', rules: [GET] })).toEqual(told)
    expect(mistakes({ ...SERVICE, action: 'DENY', rules: [{ ...FROM, ...GET }] })).toEqual([])
    expect(
      mistakes({ ...SERVICE, action: 'DENY', rules: [{ ...GET, when: [{ key: 'source.ip', values: ['a'] }] }] }),
    ).toEqual([])
    expect(
      mistakes({ ...SERVICE, action: 'DENY', rules: [{ when: [{ key: 'request.host', values: ['a'] }] }] }),
    ).toEqual(told)
  })
})

describe('a policy of targets', () => {
  const ref = (kind: string, name = 'a', namespace?: string) => ({
    targetRefs: [{ kind, name, ...(namespace !== undefined && { namespace }) }],
  })

  test('a policy of targets reaches those of its own namespace', () => {
    expect(mistakes(ref('Service', 'a', 'shop'))).toEqual([])
    expect(mistakes(ref('Service', 'a'))).toEqual([])
    expect(mistakes(ref('Service', 'a', 'other'))).toEqual([
      'target-outside-namespace: has no effect for the Service other/a: a policy reaches targets of its own namespace alone',
    ])
    expect(mistakes({ targetRef: { kind: 'Service', name: 'a', namespace: 'other' } })).toHaveLength(1)
    expect(mistakes(ref('Service', 'a', 'other'), { metadata: { namespace: '' } })).toEqual([])
  })

  test('a policy of a GatewayClass is one of waypoints, in the root namespace', () => {
    const inRoot = (name: string, roots?: string[]) => mistakes(ref('GatewayClass', name), { ...(roots && { roots }) })
    expect(inRoot('istio-waypoint')).toEqual([])
    expect(inRoot('istio-waypoint', ['shop'])).toEqual([])
    expect(inRoot('istio-waypoint', ['istio-system'])).toEqual([
      'target-outside-namespace: has no effect for the GatewayClass istio-waypoint: it would in the root namespace, istio-system',
    ])
    expect(inRoot('istio')).toEqual([
      'policy-ineffective: has no effect for the GatewayClass istio: only istio-waypoint has policies',
    ])
  })
})
