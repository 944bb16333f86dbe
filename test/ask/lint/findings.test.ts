import { describe, expect, test } from 'vitest'
import type { RuleId } from '../../../src/ask/lint/rule-ids.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { related } from '../../helpers/beacon-world.ts'
import { event } from '../../helpers/world.ts'
import { createPlace } from '../preview/planned.ts'
import { APP, forPods, forService, granted, lintOf, policy } from './place.ts'

const rules = (...from: string[]) => [{ from: [{ source: { principals: from } }] }]
const SCRAPING = { interface: 'prometheus_scrape', role: 'requires' } as const
const WEB = 'cluster.local/ns/shop/sa/web'
const istio = (mesh: string, version = '1.31.0'): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { mesh } },
  metadata: { name: 'istio', namespace: 'istio-system', labels: { 'app.kubernetes.io/version': version } },
})
const waypoint = (name: string): KubernetesObject => ({
  ...{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name, namespace: 'shop' } },
  spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15008, protocol: 'HBONE' }] },
})

describe('lint names', () => {
  test.each<[string, RuleId, KubernetesObject[], RegExp]>([
    [
      'a DENY of paths at pods, which refuses nothing',
      'http-without-waypoint',
      [policy('one', { ...forPods('db'), action: 'DENY', rules: [{ to: [{ operation: { paths: ['/admin*'] } }] }] })],
      /cannot see paths: it refuses nothing$/,
    ],
    [
      'a DENY of paths on a port at pods, which refuses more',
      'http-without-waypoint',
      [
        policy('one', {
          ...forPods('db'),
          action: 'DENY',
          rules: [{ to: [{ operation: { paths: ['/admin*'], ports: ['80'] } }] }],
        }),
      ],
      /denies more at pods/,
    ],
    [
      'a principal with spiffe://',
      'principal-spiffe',
      [policy('one', { ...forService('db'), rules: rules(`spiffe://${WEB}`) })],
      /principals are written without spiffe:/,
    ],
    [
      'an account that nobody has',
      'account-unknown',
      [policy('one', { ...forService('db'), rules: rules(WEB, 'cluster.local/ns/shop/sa/wbe') })],
      /nobody in shop runs as the ServiceAccount wbe/,
    ],
    [
      'a trust domain that nobody has',
      'trust-domain-unknown',
      [istio('trustDomain: new\n'), policy('one', { ...forService('db'), rules: rules('other/ns/shop/sa/web') })],
      /nobody of this mesh has the trust domain other: it is new, cluster\.local/,
    ],
    [
      'a trust domain at pods, where cluster.local is not the own one',
      'trust-domain-unknown',
      [istio('trustDomain: new\n'), policy('one', { ...forPods('db'), rules: rules(WEB) })],
      /the trust domain cluster\.local at pods: it is new$/,
    ],
    [
      'a port that the Service lacks',
      'port-unknown',
      [policy('one', { ...forService('db'), rules: [{ to: [{ operation: { ports: ['81'] } }] }] })],
      /the Service shop\/db has no port 81, but 80$/,
    ],
    [
      'a GatewayClass outside of the root namespace',
      'target-outside-namespace',
      [
        policy('one', {
          targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }],
        }),
      ],
      /it would in the root namespace, istio-system/,
    ],
    [
      'a policy that another one makes idle',
      'policy-shadowed',
      [policy('open', { ...forPods('db'), rules: [{}] }), policy('one', { ...forPods('db'), rules: rules(WEB) })],
      /it restricts nobody, because shop\/open lets everybody in/,
    ],
    [
      'a DENY of the root namespace that hides what is granted',
      'allow-hidden',
      [
        {
          ...policy('all', { action: 'DENY', rules: [{}] }),
          metadata: { name: 'all', namespace: 'istio-system' },
        },
      ],
      /istio-system\/all, at the pods of shop\/db/,
    ],
    [
      'a waypoint that nothing leads to',
      'waypoint-unused',
      [waypoint('idle')],
      /no label of a Service, a ServiceEntry, a pod/,
    ],
    [
      'a selector of nothing',
      'policy-ineffective',
      [policy('one', { selector: {}, rules: [{}] })],
      /its selector has no matchLabels/,
    ],
    ['an Istio that is too old', 'istio-too-old', [istio('', '1.24.3')], /is 1\.24\.3, and 1\.25\.0 is the lowest/],
    [
      'dry runs, whose results nobody reads here',
      'audit-unseen',
      [
        {
          ...policy('one', { ...forService('db'), rules: rules(WEB) }),
          metadata: { name: 'one', namespace: 'shop', annotations: { 'istio.io/dry-run': 'true' } },
        },
      ],
      /requests that a dry run would refuse are not shown here: waypoints count them/,
    ],
  ])('%s', async (_, rule, objects, message) => {
    const place = await granted()
    place.api.seed(objects)
    const found = (await lintOf(place)).filter((one) => one.rule === rule)
    expect(found.map((one) => one.message)).toEqual(expect.arrayContaining([expect.stringMatching(message)]))
  })

  test('a DENY that hides an ALLOW, among however many applications', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `a${String(index).padStart(2, '0')}`)
    const place = createPlace([...names, 'zz'])
    const web = 'cluster.local/ns/shop/sa/a00'
    place.api.handle({
      ...{ method: 'PATCH', path: '/api/v1/namespaces/shop' },
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { 'istio.io/dataplane-mode': 'ambient' } } }),
    })
    place.api.seed([
      policy('allow', { ...forPods('zz'), rules: rules(web) }),
      policy('deny', { ...forPods('zz'), action: 'DENY', rules: rules(web) }),
    ])
    expect(await lintOf(place)).toMatchObject([{ rule: 'allow-hidden', about: 'AuthorizationPolicy shop/allow' }])
  })
})

test('a principal that is known, a port that is there and an alias of the mesh are no findings', async () => {
  const place = await granted(undefined, { trustDomain: 'new' })
  place.api.seed([
    istio('trustDomain: new\ntrustDomainAliases: [old]\n'),
    policy('one', {
      ...forService('db'),
      rules: [
        {
          from: [{ source: { principals: [WEB, 'old/ns/shop/sa/web', '*/ns/shop/sa/web'] } }],
          to: [{ operation: { ports: ['80'] } }],
        },
      ],
    }),
  ])
  expect(await lintOf(place)).toEqual([])
})

const UNIT = { type: 'unit', relation: 'use', ports: [80] }

test.each([
  ['of an app', [APP]],
  ['of a unit', [UNIT]],
  ['of both', [APP, UNIT]],
  ['of nobody', []],
])('policies %s that meshstep writes let in their waypoint, in each mode', async (_, policies) => {
  for (const mesh of [{}, { hardened: true }, { modelOnMesh: true, hardened: true }, { enforcement: 'audit' }]) {
    const place = await granted({ policies }, mesh)
    place.api.seed([istio('trustDomain: cluster.local\n')])
    expect((await lintOf(place)).filter(({ rule }) => rule.startsWith('waypoint'))).toEqual([])
  }
})

describe('a finding that is meant', () => {
  const wrong = (annotations: Record<string, string>): KubernetesObject => ({
    ...policy('one', { ...forService('bd'), rules: [{}] }),
    metadata: { name: 'one', namespace: 'shop', annotations },
  })

  test.each([
    ['is not told where the object allows it', { 'meshstep.dev/allow': 'port-unknown, policy-unmatched' }, []],
    ['is told where the object allows another one', { 'meshstep.dev/allow': 'port-unknown' }, ['policy-unmatched']],
  ])('%s', async (_, annotations, told) => {
    const place = await granted()
    place.api.seed([wrong(annotations)])
    expect((await lintOf(place)).map(({ rule }) => rule)).toEqual(told)
  })
})

test('lint names what a relation tells and cannot be served', async () => {
  const place = await granted({ policies: 'related' })
  const scrape_jobs = [{ static_configs: [{ targets: ['foo.com:80'] }] }]
  const scraping = related(6, 'metrics-endpoint', { application: 'db' }, { application: 'web' }, SCRAPING)
  const remote = { application: 'db', endpoint: 'metrics-endpoint', data: { scrape_jobs } }
  await place.happen(event('relation-changed', { ...scraping, remote }))
  const found = (await lintOf(place)).filter(({ rule }) => rule === 'databag-unserved')
  expect(found).toEqual([
    {
      ...{ rule: 'databag-unserved', about: 'shop/db' },
      message: expect.stringContaining('scrape_jobs: "foo.com:80" opens no port of pods'),
    },
  ])
})
