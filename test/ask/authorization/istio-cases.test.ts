import { describe, expect, test } from 'vitest'
import { type AccessRequest, type ClusterSnapshot, evaluate } from '../../../src/ask/authorization/evaluate.ts'
import type { Condition, Operation, Rule, Source } from '../../../src/mesh/istio/authorization-policy.ts'
import { custom, pods, service } from '../../mesh/istio/bookinfo.ts'
import { outcomesOf } from './istio/route.ts'

/** What Istio's and ztunnel's own tests hold for true, as what becomes of three connections. */

type Place = 'ztunnel' | 'http' | 'tcp'

const WAYPOINT = { namespace: 'shop', name: 'w', serviceAccount: 'w' }

/** `web` of shop on 80 and `till` of bank on 9080 are on the mesh; at a ztunnel the third sends plaintext, on 80. */
const connections = (place: Place): AccessRequest[] => {
  const to: AccessRequest['to'] =
    place === 'ztunnel'
      ? { namespace: 'shop', application: 'details' }
      : { namespace: 'shop', application: 'details', service: 'details', protocol: place }
  const request = { method: 'GET', path: '/a', host: 'details' }
  return [
    { from: { namespace: 'shop', serviceAccount: 'web', address: '10.1.2.3' }, to, port: 80, ...request },
    { from: { namespace: 'bank', serviceAccount: 'till', address: '10.9.9.9' }, to, port: 9080, ...request },
    ...(place === 'ztunnel' ? [{ from: { namespace: 'legacy', address: '10.1.2.3' }, to, port: 80, ...request }] : []),
  ]
}

const worldOf = (place: Place, action: 'ALLOW' | 'DENY', rules: Rule[]): ClusterSnapshot => ({
  policies: [custom('p', { ...(place === 'ztunnel' ? pods('details') : service('details')), action, rules })],
  rootNamespace: 'istio-system',
  trustDomain: 'cluster.local',
  services: [{ namespace: 'shop', name: 'details', waypoint: place === 'ztunnel' ? undefined : WAYPOINT }],
  workloads: [{ namespace: 'shop', name: 'details', labels: { 'app.kubernetes.io/name': 'details' }, onMesh: true }],
  autoAllowWaypoint: false,
})

const from = (...sources: Source[]): Rule => ({ from: sources.map((source) => ({ source })) })
const to = (...operations: Operation[]): Rule => ({ to: operations.map((operation) => ({ operation })) })
const when = (...conditions: Condition[]): Rule => ({ when: conditions })

const WEB = 'cluster.local/ns/shop/sa/web'
const SNI: Condition = { key: 'connection.sni', values: ['x'] }
const IN_SHOP: Condition = { key: 'source.namespace', values: ['shop'] }
const HEADER: Condition = { key: 'request.headers[x]', values: ['y'] }

type Case = [name: string, place: Place, rules: Rule[], matches: (boolean | 'unknown')[]]

/** Whether a rule matches, for each connection. */
const either: Case[] = [
  ['a namespace', 'ztunnel', [from({ namespaces: ['shop'] })], [true, false, false]],
  ['not a namespace', 'ztunnel', [from({ notNamespaces: ['shop'] })], [false, true, true]],
  ['a ServiceAccount', 'ztunnel', [from({ serviceAccounts: ['shop/web'] })], [true, false, false]],
  ['not a ServiceAccount', 'ztunnel', [from({ notServiceAccounts: ['web'] })], [false, true, true]],
  ['a principal', 'ztunnel', [from({ principals: [WEB] })], [true, false, false]],
  ['not a principal', 'ztunnel', [from({ notPrincipals: [WEB] })], [false, true, true]],
  ['anybody of the mesh', 'ztunnel', [from({ principals: ['*'] })], [true, true, false]],
  ['nobody of the mesh', 'ztunnel', [from({ notPrincipals: ['*'] })], [false, false, true]],
  ['an address', 'ztunnel', [from({ ipBlocks: ['10.1.2.3'] })], [true, false, true]],
  ['not an address', 'ztunnel', [from({ notIpBlocks: ['10.1.2.3/32'] })], [false, true, false]],
  ['a port', 'ztunnel', [to({ ports: ['80'] })], [true, false, true]],
  ['not a port', 'ztunnel', [to({ notPorts: ['80'] })], [false, true, false]],
  ['nothing', 'ztunnel', [{}], [true, true, true]],
  ['no rule', 'ztunnel', [], [false, false, false]],
  [
    'one of two rules',
    'ztunnel',
    [from({ namespaces: ['shop'] }), from({ namespaces: ['bank'] })],
    [true, true, false],
  ],
  ['one of two sources', 'ztunnel', [from({ namespaces: ['shop'] }, { namespaces: ['bank'] })], [true, true, false]],
  [
    'sources and ports',
    'ztunnel',
    [{ ...from({ namespaces: ['shop'] }), ...to({ ports: ['9080'] }) }],
    [false, false, false],
  ],
  [
    'all conditions on the connection',
    'ztunnel',
    [when(IN_SHOP, { key: 'source.ip', values: ['10.1.0.0/16'] })],
    [true, false, false],
  ],
  ['a namespace', 'http', [from({ namespaces: ['shop'] })], [true, false]],
  ['a method', 'http', [to({ methods: ['GET'] })], [true, true]],
  ['a method by its header', 'http', [when({ key: 'request.headers[:method]', values: ['POST'] })], [false, false]],
  [
    'a ServiceAccount, as a condition',
    'http',
    [when({ key: 'source.serviceAccount', values: ['web'] })],
    [true, false],
  ],
  ['a trust domain', 'http', [from({ trustDomains: ['cluster.local'] })], [true, true]],
  [
    'a trust domain, as a condition',
    'http',
    [when({ key: 'source.trustDomain', notValues: ['cluster*'] })],
    [false, false],
  ],
  ['a header that nobody knows', 'http', [when(HEADER)], ['unknown', 'unknown']],
  ['a namespace', 'tcp', [from({ namespaces: ['shop'] })], [true, false]],
  ['a port', 'tcp', [to({ ports: ['80'] })], [true, false]],
]

const L7 = to({ methods: ['GET'], paths: ['/a'] })
const TOKEN = from({ requestPrincipals: ['a'] })

/** An ALLOW rule with something that is not seen is left out as a whole. */
const allowed: Case[] = [
  [
    'HTTP beside an identity',
    'ztunnel',
    [from({ namespaces: ['shop'], requestPrincipals: ['a'] })],
    [false, false, false],
  ],
  ['HTTP beside a port', 'ztunnel', [to({ ports: ['80'], methods: ['GET'] })], [false, false, false]],
  ['HTTP in another operation', 'ztunnel', [to({ ports: ['80'] }, { methods: ['GET'] })], [false, false, false]],
  ['HTTP in another rule', 'ztunnel', [to({ ports: ['80'] }), L7], [true, false, true]],
  ['a condition on HTTP', 'ztunnel', [when(IN_SHOP, SNI)], [false, false, false]],
  [
    'a condition on the ServiceAccount',
    'ztunnel',
    [when({ key: 'source.serviceAccount', values: ['shop/web'] })],
    [false, false, false],
  ],
  [
    'a trust domain beside a namespace',
    'ztunnel',
    [from({ namespaces: ['shop'], trustDomains: ['other'] })],
    [true, false, false],
  ],
  ['a trust domain alone', 'ztunnel', [from({ trustDomains: ['cluster.local'] })], [false, false, false]],
  ['HTTP beside an identity', 'tcp', [{ ...from({ namespaces: ['shop'] }), ...L7 }], [false, false]],
  [
    'HTTP in another rule',
    'tcp',
    [TOKEN, { ...from({ namespaces: ['shop'] }), ...to({ ports: ['80'] }) }],
    [true, false],
  ],
]

/** A DENY rule goes on without it: at a ztunnel what is emptied matches nothing, at an Envoy everything. */
const denied: Case[] = [
  ['HTTP alone', 'ztunnel', [L7], [false, false, false]],
  ['a token alone', 'ztunnel', [TOKEN], [false, false, false]],
  [
    'HTTP beside an identity',
    'ztunnel',
    [from({ namespaces: ['shop'], requestPrincipals: ['a'] })],
    [true, false, false],
  ],
  ['HTTP beside a port', 'ztunnel', [to({ ports: ['80'], methods: ['POST'] })], [true, false, true]],
  ['HTTP in another rule', 'ztunnel', [L7, from({ namespaces: ['shop'] })], [true, false, false]],
  ['HTTP in another operation', 'ztunnel', [to({ ports: ['80'] }, { methods: ['POST'] })], [true, false, true]],
  ['an identity, and HTTP alone', 'ztunnel', [{ ...from({ namespaces: ['shop'] }), ...L7 }], [false, false, false]],
  [
    'an identity, and a condition on HTTP',
    'ztunnel',
    [{ ...from({ namespaces: ['shop'] }), ...when(HEADER) }],
    [false, false, false],
  ],
  ['a namespace and a condition on HTTP', 'ztunnel', [when(IN_SHOP, SNI)], [false, false, false]],
  ['HTTP and a rule of everything', 'ztunnel', [{}, L7], [true, true, true]],
  ['HTTP alone', 'tcp', [L7], [true, true]],
  ['a token alone', 'tcp', [TOKEN], [true, true]],
  ['an identity, and HTTP alone', 'tcp', [{ ...from({ namespaces: ['shop'] }), ...L7 }], [true, false]],
  ['a token, and a port', 'tcp', [{ ...TOKEN, ...to({ ports: ['80'] }) }], [true, false]],
  ['HTTP beside a port', 'tcp', [{ ...TOKEN, ...to({ ports: ['80'], methods: ['POST'] }) }], [true, false]],
  ['a condition on HTTP', 'tcp', [when({ key: 'request.headers[:method]', values: ['POST'] })], [true, true]],
]

const answersIn = (place: Place, where: ClusterSnapshot) =>
  connections(place).map((asked) => {
    const { allowed: passes, decided } = evaluate(asked, where)
    const outcomes = [...outcomesOf(asked, where)]
    expect(outcomes.length === 1 ? outcomes[0] : 'unknown').toBe(decided ? passes : 'unknown')
    return decided ? passes : 'unknown'
  })

const not = (match: boolean | 'unknown') => (match === 'unknown' ? match : !match)

describe('an ALLOW lets through what it matches', () => {
  test.each([...either, ...allowed])('%s at %s', (_, place, rules, matches) => {
    expect(answersIn(place, worldOf(place, 'ALLOW', rules))).toEqual(matches)
  })
})

describe('a DENY refuses what it matches', () => {
  test.each([...either, ...denied])('%s at %s', (_, place, rules, matches) => {
    expect(answersIn(place, worldOf(place, 'DENY', rules))).toEqual(matches.map(not))
  })
})
