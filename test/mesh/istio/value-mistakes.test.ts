import { describe, expect, test } from 'vitest'
import { type AuthorizationPolicySpec, authorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import { policyMistakes } from '../../../src/mesh/istio/policy-mistakes.ts'

const FOR_SERVICE = { targetRefs: [{ group: '', kind: 'Service', name: 'db' }] }
const GATEWAY = { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'ingress' }] }
const from = (source: object) => ({ from: [{ source }] })
const to = (operation: object) => ({ to: [{ operation }] })
const when = (key: string, ...values: string[]) => ({ when: [{ key, values }] })

const found = (rule: object, spec: AuthorizationPolicySpec = FOR_SERVICE) =>
  policyMistakes(
    authorizationPolicy({ metadata: { name: 'p', namespace: 'shop' }, spec: { ...spec, rules: [rule] } }),
    ['istio-system'],
  ).map(({ id, says }) => [id, says])

describe('a value that no request has is told', () => {
  test.each<[string, object, string, string]>([
    [
      'a method in lower case',
      to({ methods: ['GET', 'get'] }),
      'value-unmatched',
      'matches nothing by the method get of',
    ],
    ['a method in a condition', when('request.headers[:method]', 'Post'), 'value-unmatched', 'the method Post of'],
    [
      'an excluded method',
      to({ notMethods: ['delete'] }),
      'value-unmatched',
      'excludes nothing by the method delete of',
    ],
    [
      'a path without a slash',
      to({ paths: ['admin', '/a'] }),
      'value-unmatched',
      'matches nothing by the path admin of',
    ],
    ['a path with a query', to({ paths: ['/a?b=c'] }), 'value-unmatched', 'a path is compared without its query'],
    ['a host with a scheme', to({ hosts: ['https://shop.test'] }), 'value-unmatched', 'the host https://shop.test of'],
    [
      'a principal of two parts',
      from({ principals: ['shop/web'] }),
      'principal-malformed',
      'matches nobody by shop/web of',
    ],
    [
      'a principal as Kubernetes names accounts',
      from({ notPrincipals: ['system:serviceaccount:shop:web'] }),
      'principal-malformed',
      'excludes nobody by system:serviceaccount:shop:web of rules[0]: a principal is TRUST_DOMAIN/ns/NAMESPACE/sa/ACCOUNT',
    ],
    [
      'a principal with a wildcard in the middle',
      from({ principals: ['cluster.local/ns/*/sa/web'] }),
      'wildcard-literal',
      'takes the * within cluster.local/ns/*/sa/web of rules[0] literally: a wildcard is one *',
    ],
    ['a path with a wildcard in the middle', to({ paths: ['/a/*/b'] }), 'wildcard-literal', 'within /a/*/b of'],
    ['a path with two wildcards at its end', to({ paths: ['/a/**'] }), 'wildcard-literal', 'within /a/** of'],
    ['a host with two wildcards', to({ hosts: ['*.shop.*'] }), 'wildcard-literal', 'within *.shop.* of'],
    ['a header with a wildcard in the middle', when('request.headers[x]', 'a*b'), 'wildcard-literal', 'within a*b of'],
  ])('%s', (_, rule, id, says) => {
    expect(found(rule)).toEqual([[id, expect.stringContaining(says)]])
  })

  test('of namespaces at pods alone, where a waypoint has wildcards anywhere', () => {
    const rule = from({ namespaces: ['a*b'] })
    expect(found(rule)).toEqual([])
    expect(found(rule, {}).map(([id]) => id)).toEqual(['wildcard-literal'])
  })

  test('each kind once for a rule, with all of its values', () => {
    expect(found(to({ methods: ['get', 'put', 'get'] }))).toEqual([
      ['value-unmatched', 'matches nothing by the methods get and put of rules[0]: methods are in upper case'],
    ])
  })
})

describe('nothing is told of', () => {
  test.each<[string, object]>([
    ['methods in upper case', to({ methods: ['GET', 'P*', '*'], notMethods: ['M-SEARCH'] })],
    ['paths in every form', to({ paths: ['/a', '/a*', '*a', '*', '/a/{*}', '/{**}/b'] })],
    ['hosts in every form', to({ hosts: ['a', '*.a', 'a*', '*', 'a:8080', '[::1]:80'] })],
    ['principals in every form', from({ principals: ['*', 'cluster.local/ns/a/*', '*/sa/b', 'new/ns/a/sa/b'] })],
    ['addresses, ports and names of accounts', { ...from({ ipBlocks: ['10.0.0.0/8'] }), ...to({ ports: ['80'] }) }],
    ['values of headers', when('request.headers[x]', 'get', 'a b', '*')],
  ])('%s', (_, rule) => {
    expect(found(rule)).toEqual([])
  })

  test('principals of whatever form at a Gateway, whose clients may have certificates of others', () => {
    expect(found(from({ principals: ['partner/client'] }), GATEWAY)).toEqual([])
  })
})

test('a source without a field is no matter of trust domains', () => {
  expect(found(from({}), {})).toEqual([])
})
