import { describe, expect, test } from 'vitest'
import type { Cluster } from '../../../src/ask/lint/cluster.ts'
import { shadowingFindings } from '../../../src/ask/lint/shadowing.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { clusterOf, deployment, pod, serviceAtWaypoint, waypoint } from './cluster.ts'
import { forPods, forService, policy } from './place.ts'

const WEB = 'cluster.local/ns/shop/sa/web'
const from = (source: Record<string, unknown>) => ({ from: [{ source }] })
const to = (operation: Record<string, unknown>) => ({ to: [{ operation }] })
const allow = (rules: unknown[], spec: Record<string, unknown> = forService('db'), name = 'allow') =>
  policy(name, { ...spec, action: 'ALLOW', rules })
const deny = (rules: unknown[], spec: Record<string, unknown> = forService('db'), name = 'deny') =>
  policy(name, { ...spec, action: 'DENY', rules })

const HTTP = { name: 'http', port: 80 }
const found = (policies: readonly KubernetesObject[], changes: Partial<Cluster> = {}) =>
  shadowingFindings(
    clusterOf([waypoint(), serviceAtWaypoint('db', HTTP), pod('db'), pod('web'), ...policies], changes),
  ).map(({ rule, about, message }) => [rule, about.replace('AuthorizationPolicy ', ''), message])

describe('nothing is told of', () => {
  test.each<[string, KubernetesObject[]]>([
    [
      'a DENY that takes something out of what an ALLOW lets in',
      [allow([from({ namespaces: ['shop'] })]), deny([to({ paths: ['/admin/*'] })])],
    ],
    [
      'a DENY of one client beside an ALLOW of its namespace',
      [allow([from({ namespaces: ['shop'] })]), deny([from({ principals: [WEB] })])],
    ],
    [
      'a DENY of one client where conditions name the clients',
      [
        allow([{ when: [{ key: 'source.principal', values: [WEB, 'cluster.local/ns/shop/sa/job'] }] }]),
        deny([{ when: [{ key: 'source.principal', values: [WEB] }] }]),
      ],
    ],
    ['a DENY where no ALLOW restricts anybody', [deny([to({ paths: ['/admin/*'] })])]],
    [
      'a DENY of all with an identity beside an ALLOW of everybody',
      [allow([{}], forPods('db')), deny([from({ principals: ['*'] })], forPods('db'))],
    ],
    [
      'a DENY that closes some of the pods of an ALLOW',
      [allow([from({ namespaces: ['shop'] })], {}), deny([{}], forPods('db'))],
    ],
  ])('%s', (_, policies) => {
    expect(found(policies)).toEqual([])
  })

  test('policies with more paths that cross one another than are told apart', () => {
    const templates = Array.from({ length: 40 }, (_, index) => `/a/{*}/${'b'.repeat(index)}/{**}`)
    const crossing = to({ paths: [...templates, ...templates.map((one) => `${one}/c`)] })
    const [web, bank] = [from({ principals: [WEB] }), from({ namespaces: ['bank'] })]
    expect(found([allow([{ ...web, ...crossing }]), deny([web])])).toEqual([])
    expect(found([allow([web]), deny([{ ...bank, ...crossing }])])).toEqual([])
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['an account of any namespace, and in one namespace', { principals: ['*/sa/job'] }, { namespaces: ['bank'] }],
    ['a namespace, and accounts of some names', { namespaces: ['bank'] }, { principals: ['*job'] }],
    ['a namespace, and a trust domain', { namespaces: ['bank'] }, { trustDomains: ['other.mesh'] }],
  ])('a DENY beside an ALLOW that have clients in common: %s', (_, one, other) => {
    expect(found([allow([from(one)]), deny([from(other)])])).toEqual([])
    const key = { principals: 'source.principal', namespaces: 'source.namespace', trustDomains: 'source.trustDomain' }
    const when = Object.entries(other).map(([name, values]) => ({ key: key[name as keyof typeof key], values }))
    expect(found([allow([{ when }]), deny([from(one)])])).toEqual([])
  })

  const NAMESPACES: [string, string] = ['namespaces', 'notNamespaces']
  const PRINCIPALS: [string, string] = ['principals', 'notPrincipals']
  const ANYWHERE = [forService('db'), forPods('db')]

  test.each<[string, Record<string, unknown>, [string, string], string, Record<string, unknown>[]]>([
    ['of namespaces', { namespaces: ['sh*'] }, NAMESPACES, '*op', ANYWHERE],
    ['of accounts', { principals: ['cluster.local/ns/shop/sa/ni*'] }, PRINCIPALS, '*ly', ANYWHERE],
    ['of both', { principals: ['cluster.local/ns/sh*'] }, PRINCIPALS, '*op/sa/web', ANYWHERE],
    ['of a namespace, in two fields', { namespaces: ['sh*'] }, PRINCIPALS, '*op/sa/web', ANYWHERE],
    // a ztunnel does not look at trust domains
    ['of a trust domain', { trustDomains: ['old*'] }, PRINCIPALS, '*.mesh/ns/shop/sa/web', [forService('db')]],
  ])('a DENY beside an ALLOW whose wildcards have clients in common: %s', (_, one, fields, pattern, places) => {
    for (const place of places)
      for (const field of fields)
        expect(found([allow([from(one)], place), deny([from({ [field]: [pattern] })], place)])).toEqual([])
  })

  test('a DENY of some of the clients that a wildcard leaves open, whatever they begin with', () => {
    const some = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => `team-${letter}*`)
    for (const namespace of some)
      expect(found([allow([from({ namespaces: ['team-*'] })]), deny([from({ namespaces: [namespace] })])])).toEqual([])
  })

  test('a DENY beside an ALLOW of namespaces with several wildcards, which a waypoint has', () => {
    expect(found([allow([from({ namespaces: ['*b*c'] })]), deny([from({ namespaces: ['*q*c'] })])])).toEqual([])
  })

  test('a DENY of clients of other trust domains, though no policy names one of them', () => {
    for (const place of [forService('db'), forPods('db')]) {
      const others = deny([from({ notPrincipals: ['cluster.local/*'] })], place)
      expect(found([allow([from({ principals: ['*'] })], place), others])).toEqual([])
    }
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['an ALLOW of all ports but one, and a DENY of another', to({ notPorts: ['80'] }), to({ ports: ['443'] })],
    [
      'the same in a condition',
      { when: [{ key: 'destination.port', notValues: ['80'] }] },
      { when: [{ key: 'destination.port', values: ['443'] }] },
    ],
    ['an ALLOW of all ports but one, and a DENY of a client', to({ notPorts: ['80'] }), from({ namespaces: ['bank'] })],
  ])('a port of pods that no policy names: %s', (_, one, other) => {
    expect(found([allow([one], forPods('db')), deny([other], forPods('db'))])).toEqual([])
  })

  test('a DENY beside an ALLOW that may be added to by policies that cannot be read', () => {
    const policies = [allow([from({ principals: [WEB] })]), deny([from({ namespaces: ['bank'] })])]
    expect(found(policies, { rootPolicies: undefined })).toEqual([])
    expect(found([...policies, policy('odd', { ...forService('db'), rules: [{ of: 'a new kind' }] })])).toEqual([])
  })
})

describe('an ALLOW rule that lets in nobody any more is told', () => {
  test.each<[string, KubernetesObject[]]>([
    ['as a DENY refuses the same client', [allow([from({ principals: [WEB] })]), deny([from({ principals: [WEB] })])]],
    [
      'as a DENY refuses its whole namespace',
      [allow([from({ principals: [WEB] })], forPods('db')), deny([from({ namespaces: ['shop'] })], forPods('db'))],
    ],
    [
      'as a DENY refuses all of its paths',
      [allow([{ ...from({ principals: [WEB] }), ...to({ paths: ['/a/b'] }) }]), deny([to({ paths: ['/a/*'] })])],
    ],
    [
      'also where only two DENY policies refuse all of it together',
      [
        allow([to({ methods: ['GET', 'PUT'] })]),
        deny([to({ methods: ['GET'] })]),
        deny([to({ methods: ['PUT'] })], forService('db'), 'more'),
      ],
    ],
  ])('%s', (_, policies) => {
    expect(found(policies)).toEqual([
      [
        'allow-hidden',
        'shop/allow',
        expect.stringMatching(
          /^its rules\[0\] no longer lets anybody in, because a DENY policy refuses all its requests.*shop\/deny.*, at /,
        ),
      ],
    ])
  })

  test('an ALLOW rule that lets in nobody any more is told, and the other rules of its policy are not', () => {
    const policies = [
      allow([from({ namespaces: ['shop'] }), from({ principals: ['cluster.local/ns/bank/sa/a'] })]),
      deny([from({ namespaces: ['bank'] })]),
    ]
    expect(found(policies)).toMatchObject([['allow-hidden', 'shop/allow', expect.stringContaining('its rules[1] ')]])
  })

  test('an ALLOW rule that lets in nobody any more is told, but not while another of its targets lets somebody in', () => {
    const both = allow([from({ principals: [WEB] })], { selector: { matchLabels: {} } })
    expect(found([both, deny([{}], forPods('db'))])).toEqual([])
  })
})

test('a DENY that refuses nothing of what is let in is told', () => {
  expect(found([allow([from({ principals: [WEB] })]), deny([from({ namespaces: ['bank'] })])])).toEqual([
    ['deny-idle', 'shop/deny', 'it refuses nothing that an ALLOW policy lets in, at Service shop/db'],
  ])
})

describe('an ALLOW that restricts nobody beside one that lets in everybody', () => {
  const open = (spec: Record<string, unknown>) => allow([{}], spec, 'open')

  test('an ALLOW that restricts nobody beside one that lets in everybody is told also where it has no rules, and was to refuse all', () => {
    expect(found([allow([], {}), open({})])).toEqual([
      [
        'policy-shadowed',
        'shop/allow',
        expect.stringMatching(/it restricts nobody, because shop\/open lets everybody in$/),
      ],
    ])
  })

  test.each([
    ['other pods', pod('other')],
    ['pods to come, of a workload that is scaled to nothing', deployment('other')],
  ])(
    'an ALLOW that restricts nobody beside one that lets in everybody is not told where it still restricts %s',
    (_, other) => {
      const objects = [pod('web'), other, allow([], {}), open(forPods('web'))]
      expect(shadowingFindings(clusterOf(objects))).toEqual([])
    },
  )
})
