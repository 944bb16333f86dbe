import { describe, expect, test } from 'vitest'
import { matchesPath } from '../../../src/ask/authorization/evaluate/path.ts'
import type { RequestContext } from '../../../src/ask/authorization/evaluate/request-context.ts'
import { matchRule } from '../../../src/ask/authorization/evaluate/rule.ts'
import { matchesText } from '../../../src/ask/authorization/evaluate/text.ts'
import type { Rule } from '../../../src/mesh/istio/authorization-policy.ts'
import { joinOr } from '../../../src/platform/base/printed.ts'

const facts = (changes: Partial<RequestContext> = {}): RequestContext => ({
  identity: { trustDomain: 'cluster.local', namespace: 'shop', serviceAccount: 'web' },
  address: '10.1.2.3',
  port: 80,
  method: 'GET',
  path: '/a',
  host: 'db.shop',
  ...changes,
})
const outside = facts({ identity: undefined })
const bare = facts({ address: undefined, method: undefined, path: undefined, host: undefined })

type Source = NonNullable<NonNullable<Rule['from']>[number]['source']>
type Operation = NonNullable<NonNullable<Rule['to']>[number]['operation']>
const is = (rule: Rule, given: RequestContext) => matchRule(rule, given, 'shop').is

test.each<[string, string, boolean]>([
  ['a', 'a', true],
  ['a', 'A', false],
  ['a', 'ab', false],
  ['a*', 'a', true],
  ['a*', 'ab', true],
  ['*a', 'ba', true],
  ['*a', 'ab', false],
  ['*', 'x', true],
  ['*', '', false],
  ['a*b', 'axb', false],
  ['a*b', 'a*b', true],
])('text %s for %s: %s', (pattern, text, expected) => {
  expect(matchesText(pattern, text)).toBe(expected)
})

describe('paths', () => {
  test.each<[string, string, boolean]>([
    ['/a', '/a', true],
    ['/a', '/a?b=c', true],
    ['/a', '/b/../a', true],
    ['/a/*', '/a', false],
    ['/a/*', '/a/b/c', true],
    ['*/c', '/a/c', true],
    ['/a/{*}', '/a/b', true],
    ['/a/{*}', '/a/', false],
    ['/a/{*}', '/a/b/c', false],
    ['/a/{*}/c', '/a/b/c', true],
    ['/a/{*}/c', '/a/b/b/c', false],
    ['/a/{*}.txt', '/a/b.txt', true],
    ['/a/{*}.txt', '/a/.txt', false],
    ['/a/{**}', '/a/', true],
    ['/a/{**}', '/a/b/c', true],
    ['/a/{**}', '/a', false],
    ['/a/{**}/z', '/a/b/c/z', true],
    ['/a/{**}/z', '/a/b/c/y', false],
    ['/{*}/{**}', '/a/b/c', true],
    ['/{*}/{**}', '//b', false],
    ['/proxy/worker/{*}/metrics', '/proxy/worker/mimir-0/metrics', true],
    ['*', '*', true],
    ['/a', 'a', false],
  ])('%s for %s: %s', (pattern, path, expected) => {
    expect(matchesPath(pattern, path)).toBe(expected)
  })

  test('a template that can match in very many ways is tried in few', () => {
    // all ways would not end
    const template = `/${'{*}a'.repeat(200)}b{**}`
    expect(matchesPath(template, `/${'a'.repeat(2000)}`)).toBe(false)
  })
})

describe('one source', () => {
  test.each<[Source, string, string, string]>([
    [{ principals: ['cluster.local/ns/shop/sa/web'] }, 'yes', 'no', 'a principal'],
    [{ principals: ['cluster.local/ns/shop/*'] }, 'yes', 'no', 'a prefix'],
    [{ principals: ['*/sa/web'] }, 'yes', 'no', 'a suffix'],
    [{ principals: ['*'] }, 'yes', 'no', 'anybody who has an identity'],
    [{ principals: ['other.td/ns/shop/sa/web'] }, 'no', 'no', 'another trust domain'],
    [{ notPrincipals: ['cluster.local/ns/shop/sa/web'] }, 'no', 'yes', 'not a principal'],
    [{ notPrincipals: ['*'] }, 'no', 'yes', 'nobody who has an identity'],
    [{ namespaces: ['shop'] }, 'yes', 'no', 'a namespace'],
    [{ namespaces: ['bank', 'sh*'] }, 'yes', 'no', 'one of namespaces'],
    [{ notNamespaces: ['shop'] }, 'no', 'yes', 'not a namespace'],
    [{ serviceAccounts: ['web'] }, 'yes', 'no', 'a service account of the namespace of the policy'],
    [{ serviceAccounts: ['bank/web'] }, 'no', 'no', 'one of another namespace'],
    [{ serviceAccounts: ['shop/web'] }, 'yes', 'no', 'one with its namespace'],
    [{ notServiceAccounts: ['web'] }, 'no', 'yes', 'not a service account'],
    [{ trustDomains: ['cluster.local'] }, 'yes', 'no', 'a trust domain'],
    [{ ipBlocks: ['10.0.0.0/8'] }, 'yes', 'yes', 'a block'],
    [{ ipBlocks: ['10.1.2.3'] }, 'yes', 'yes', 'an address'],
    [{ ipBlocks: ['192.168.0.0/16', '::/0'] }, 'no', 'no', 'other blocks'],
    [{ notIpBlocks: ['10.0.0.0/8'] }, 'no', 'no', 'not a block'],
    [{ ipBlocks: ['ten'] }, 'unknown', 'unknown', 'what is no address'],
    [{ ipBlocks: ['10.0.0.0/99'] }, 'unknown', 'unknown', 'what is no block'],
    [{ remoteIpBlocks: ['10.0.0.0/8'] }, 'unknown', 'unknown', 'behind proxies'],
    [{ requestPrincipals: ['*'] }, 'unknown', 'unknown', 'a token'],
    [{ principals: ['other'], requestPrincipals: ['*'] }, 'no', 'no', 'a token that does not matter'],
    [{ principals: [], namespaces: ['shop'] }, 'yes', 'no', 'an empty list'],
    [{}, 'yes', 'yes', 'nothing'],
  ])('%j: %s on the mesh, %s outside (%s)', (source, onMesh, outsideMesh) => {
    const rule = { from: [{ source }] }
    expect([is(rule, facts()), is(rule, outside)]).toEqual([onMesh, outsideMesh])
  })

  test.each<[Source, string]>([
    [{ ipBlocks: ['0.0.0.0/0', '::/0'] }, 'yes'],
    [{ ipBlocks: ['0.0.0.0/0'] }, 'unknown'],
    [{ ipBlocks: ['10.0.0.0/8'] }, 'unknown'],
    [{ ipBlocks: ['0.0.0.0/0', '::/0'], notIpBlocks: ['10.0.0.0/8'] }, 'unknown'],
    [{ notIpBlocks: ['10.0.0.0/8'] }, 'unknown'],
  ])('%j for an address that is not known: %s', (source, expected) => {
    expect(is({ from: [{ source }] }, bare)).toBe(expected)
  })
})

describe('one operation', () => {
  test.each<[Operation, string, string]>([
    [{ ports: ['80', '443'] }, 'yes', 'yes'],
    [{ ports: ['443'] }, 'no', 'no'],
    [{ notPorts: ['80'] }, 'no', 'no'],
    [{ methods: ['GET'] }, 'yes', 'unknown'],
    [{ methods: ['get'] }, 'no', 'unknown'],
    [{ methods: ['*'] }, 'yes', 'unknown'],
    [{ notMethods: ['POST'] }, 'yes', 'unknown'],
    [{ notMethods: ['GET'] }, 'no', 'unknown'],
    [{ hosts: ['DB.Shop'] }, 'yes', 'unknown'],
    [{ hosts: ['*.SHOP'] }, 'yes', 'unknown'],
    [{ hosts: ['db.shop:80'] }, 'no', 'unknown'],
    [{ notHosts: ['DB*'] }, 'no', 'unknown'],
    [{ paths: ['/{*}'] }, 'yes', 'unknown'],
    [{ notPaths: ['/a*'] }, 'no', 'unknown'],
    [{ notPaths: ['/b'] }, 'yes', 'unknown'],
    [{ ports: ['443'], methods: ['GET'] }, 'no', 'no'],
    [{ ports: ['80'], methods: ['GET'], paths: ['/b'] }, 'no', 'unknown'],
    [{}, 'yes', 'yes'],
  ])('%j: %s, and %s where only the port is known', (operation, expected, unknownExpected) => {
    const rule = { to: [{ operation }] }
    expect([is(rule, facts()), is(rule, bare)]).toEqual([expected, unknownExpected])
  })
})

describe('a rule', () => {
  test.each<[string, Rule, string]>([
    ['nothing', {}, 'yes'],
    ['empty lists', { from: [], to: [], when: [] }, 'yes'],
    [
      'one of its sources',
      { from: [{ source: { namespaces: ['bank'] } }, { source: { namespaces: ['shop'] } }] },
      'yes',
    ],
    ['one of its operations', { to: [{ operation: { ports: ['1'] } }, { operation: { ports: ['80'] } }] }, 'yes'],
    [
      'source and operation',
      { from: [{ source: { namespaces: ['bank'] } }], to: [{ operation: { ports: ['80'] } }] },
      'no',
    ],
    [
      'one operation whole, not pieces of two',
      { to: [{ operation: { ports: ['80'], methods: ['POST'] } }, { operation: { ports: ['1'], methods: ['GET'] } }] },
      'no',
    ],
    [
      'all conditions',
      {
        when: [
          { key: 'destination.port', values: ['80'] },
          { key: 'source.namespace', values: ['shop'] },
        ],
      },
      'yes',
    ],
    ['a condition on the principal', { when: [{ key: 'source.principal', notValues: ['*/sa/web'] }] }, 'no'],
    ['a condition on the address', { when: [{ key: 'source.ip', values: ['10.0.0.0/8'] }] }, 'yes'],
    [
      'a condition on what only the cluster knows',
      { when: [{ key: 'destination.ip', values: ['10.0.0.1'] }] },
      'unknown',
    ],
    ['a condition named as objects have properties', { when: [{ key: 'constructor', values: ['x'] }] }, 'unknown'],
    [
      'a certain miss beside what is not known',
      {
        when: [
          { key: 'connection.sni', values: ['x'] },
          { key: 'destination.port', values: ['1'] },
        ],
      },
      'no',
    ],
  ])('a rule matches by %s', (_, rule, expected) => {
    expect(is(rule, facts())).toBe(expected)
  })

  test('the nearest miss is the reason', () => {
    const rule: Rule = {
      from: [{ source: { namespaces: ['bank'] } }, { source: { namespaces: ['shop'] } }],
      to: [{ operation: { ports: ['1'] } }, { operation: { ports: ['80'], methods: ['GET'], paths: ['/b', '/c'] } }],
    }
    expect(matchRule(rule, facts(), 'shop')).toMatchObject({ is: 'no', because: 'path /a is not /b or /c' })
  })
})

test.each([
  [[], ''],
  [['a'], 'a'],
  [['a', 'b'], 'a or b'],
  [['a', 'b', 'c', 'd', 'e'], 'a, b, c, d or e'],
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'a, b, c, d or 3 others'],
])('a list in a sentence: %j', (texts, expected) => {
  expect(joinOr(texts)).toBe(expected)
})
