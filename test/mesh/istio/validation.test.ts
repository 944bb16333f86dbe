import { describe, expect, test } from 'vitest'
import { features } from '../../../src/features.ts'
import {
  type AuthorizationPolicySpec,
  authorizationPolicy,
  type Source,
} from '../../../src/mesh/istio/authorization-policy.ts'
import { mistakeWarnings } from '../../../src/mesh/istio/policy-mistakes.ts'
import { accepted, refused } from './written-policies.ts'

const raw = (spec: unknown, annotations?: Record<string, string>) => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'p', ...(annotations && { annotations }) },
  spec,
})

const problemsOf = (spec: unknown, annotations?: Record<string, string>): string[] => {
  const result = features.givenConfig.safeParse({ rawPolicies: [raw(spec, annotations)] })
  return (result.error?.issues ?? []).map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`)
}

describe('a policy that Istio takes is taken', () => {
  test.each(accepted)('%s', (_, spec, annotations) => {
    expect(problemsOf(spec, annotations)).toEqual([])
  })
})

describe('a policy that Istio refuses is refused, and the message says where and why', () => {
  test.each(refused)('%s', (_, spec, message, annotations) => {
    expect(problemsOf(spec, annotations)).toEqual(expect.arrayContaining([expect.stringContaining(message)]))
  })
})

describe('what has no effect, or another one, is told', () => {
  const policy = (spec: AuthorizationPolicySpec, namespace = 'shop', annotations: Record<string, string> = {}) =>
    authorizationPolicy({ metadata: { name: 'p', namespace, annotations }, spec })
  const of = (kind: string, name = 'db') => ({
    targetRefs: [{ group: kind === 'Service' ? '' : 'gateway.networking.k8s.io', kind, name }],
  })
  const get = [{ to: [{ operation: { methods: ['GET'] } }] }]
  const from = (source: Source) => [{ from: [{ source }] }]
  const selector = { matchLabels: { app: 'db' } }

  test.each<[string, ReturnType<typeof policy>, string]>([
    [
      'an ALLOW of methods at pods',
      policy({ selector, rules: get }),
      'matches nothing at pods by rules[0], of which a ztunnel cannot see methods',
    ],
    ['a DENY of methods at pods', policy({ action: 'DENY', rules: get }), 'matches nothing at pods by rules[0]'],
    [
      'a DENY of methods on a port at pods',
      policy({ action: 'DENY', rules: [{ to: [{ operation: { methods: ['GET'], ports: ['80'] } }] }] }),
      'denies more at pods than rules[0] says, as a ztunnel cannot see methods',
    ],
    [
      'a trust domain beside namespaces at pods',
      policy({ selector, rules: from({ namespaces: ['a'], trustDomains: ['b'] }) }),
      'matches more at pods than rules[0] says, as a ztunnel does not look at trust domains',
    ],
    [
      'a trust domain alone at pods',
      policy({ selector, rules: from({ trustDomains: ['b'] }) }),
      'matches nothing at pods',
    ],
    [
      'CUSTOM at pods',
      policy({ selector, action: 'CUSTOM', provider: { name: 'x' }, rules: [{}] }),
      'has no effect at pods, whose ztunnel knows no CUSTOM',
    ],
    ['AUDIT at pods', policy({ action: 'AUDIT', rules: [{}] }), 'has no effect at pods, whose ztunnel knows no AUDIT'],
    ['AUDIT at a Service', policy({ ...of('Service'), action: 'AUDIT', rules: [{}] }), 'decides nothing'],
    [
      'a dry run at pods',
      policy({ selector, rules: [{}] }, 'shop', { 'istio.io/dry-run': 'true' }),
      'ignores dry runs',
    ],
    [
      'a selector of nothing',
      policy({ selector: {}, rules: [{}] }),
      'has no effect at pods, as its selector has no matchLabels: leave the selector out',
    ],
    [
      'a selector of no labels',
      policy({ selector: { matchLabels: {} }, rules: [{}] }),
      'selects by no label, and so all pods of its namespace',
    ],
    [
      'a DENY of methods at a Service',
      policy({ ...of('Service'), action: 'DENY', rules: get }),
      'on ports that carry TCP',
    ],
    [
      'a DENY of a header at a Service',
      policy({ ...of('Service'), action: 'DENY', rules: [{ when: [{ key: 'request.headers[x]', values: ['a'] }] }] }),
      'on ports that carry TCP',
    ],
    [
      'a DENY of requests without a token at a Service',
      policy({ ...of('Service'), action: 'DENY', rules: from({ notRequestPrincipals: ['*'] }) }),
      'on ports that carry TCP',
    ],
    [
      'a GatewayClass elsewhere than in the root namespace',
      policy(of('GatewayClass', 'istio-waypoint')),
      'has no effect for the GatewayClass istio-waypoint: it would in the root namespace, istio-system',
    ],
    [
      'a target in another namespace',
      policy({ targetRefs: [{ group: '', kind: 'Service', name: 'db', namespace: 'bank' }] }),
      'has no effect for the Service bank/db: a policy reaches targets of its own namespace alone',
    ],
    [
      'a principal with spiffe://',
      policy({ ...of('Service'), rules: from({ principals: ['spiffe://cluster.local/ns/a/sa/b'] }) }),
      'matches nobody by spiffe://cluster.local/ns/a/sa/b of rules[0]: principals are written without spiffe://',
    ],
    ['another GatewayClass', policy(of('GatewayClass', 'istio'), 'istio-system'), 'only istio-waypoint has policies'],
  ])('%s', (_, written, warning) => {
    const warnings = mistakeWarnings(written, ['istio-system'])
    expect(warnings).toEqual([expect.stringContaining(warning)])
    expect(warnings[0]).toMatch(/^AuthorizationPolicy [a-z-]+\/p /)
  })

  test.each<[string, ReturnType<typeof policy>]>([
    ['methods at a Service', policy({ ...of('Service'), rules: get })],
    ['everybody, denied at a Service', policy({ ...of('Service'), action: 'DENY', rules: [{}] })],
    [
      'a client without a token, denied at a Service',
      policy({
        ...of('Service'),
        action: 'DENY',
        rules: from({ namespaces: ['a'], notRequestPrincipals: ['*'] }),
      }),
    ],
    ['ports at pods', policy({ selector, rules: [{ to: [{ operation: { ports: ['80'] } }] }] })],
    ['nothing at pods', policy({ selector })],
    ['all waypoints', policy(of('GatewayClass', 'istio-waypoint'), 'istio-system')],
    [
      'an external authorizer of a Gateway',
      policy({ ...of('Gateway'), action: 'CUSTOM', provider: { name: 'x' }, rules: [{}] }),
    ],
  ])('nothing is told of %s', (_, written) => {
    expect(mistakeWarnings(written, ['istio-system'])).toEqual([])
  })
})
