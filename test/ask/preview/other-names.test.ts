import { describe, expect, test } from 'vitest'
import { createMemo } from '../../../src/platform/base/memo.ts'
import { ApiError } from '../../../src/platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application, waypoint } from '../../helpers/mesh.ts'
import { custom, pods } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, namespace, ON_MESH, onMesh, planned } from './compared.ts'
import { reading } from './reading.ts'

type Labels = Readonly<Record<string, string>>

const LED = { 'istio.io/use-waypoint': 'w' }

const gateway = waypoint({
  metadata: { name: 'w', namespace: 'shop', labels: { 'istio.io/waypoint-for': 'service' } },
})

const cluster = [ISTIO, namespace('shop'), ...onMesh('db'), ...onMesh('web'), gateway]

const everything = (targets: object) => custom('closed', { ...targets, action: 'DENY', rules: [{}] })

const root = custom('nothing', { action: 'ALLOW', rules: [{}] }, { namespace: 'istio-system' })

const targeting = (kind: string, name: string, group = '') => ({ targetRefs: [{ group, kind, name }] })

const OF_WAYPOINT = targeting('Gateway', 'w', 'gateway.networking.k8s.io')

describe('of a Service that stands for another name, a plan', () => {
  const alias = (externalName: string, labels: Labels = {}, ports?: readonly object[]): KubernetesObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'alias', namespace: 'shop', labels },
    spec: { type: 'ExternalName', externalName, ...(ports && { ports }) },
  })
  const unknown = expect.stringMatching(/^whether access to shop\/alias changes is not known: .*type ExternalName/)
  const own = alias('db.shop.svc.cluster.local')

  test.each<[string, KubernetesObject[], KubernetesObject[]]>([
    ['says that it follows no other name', [own], [alias('elsewhere.example')]],
    ['says so where it has ports', [alias('a.example', {}, [{ port: 80 }])], [alias('b.example', {}, [{ port: 80 }])]],
    ['says so where it goes', [own], []],
    ['says so where it becomes one of its own', [own], application('alias', { labels: ON_MESH })],
    ['says so where it is led to a waypoint', [own], [alias('db.shop.svc.cluster.local', LED)]],
  ])('%s', async (_, before, after) => {
    const plan = await planned([...cluster, ...before], { before, after })
    expect(plan.incomplete).toContainEqual(unknown)
    expect(codeOf(plan)).not.toBe(0)
  })

  test('of a Service that stands for another name, a plan says so where a policy of its waypoint changes', async () => {
    const objects = [...cluster, alias('db.shop.svc.cluster.local', LED, [{ port: 80 }])]
    const plan = await planned(objects, { after: [everything(targeting('Service', 'alias'))] })
    expect(plan.incomplete).toContainEqual(unknown)
    expect(codeOf(plan)).toBe(3)
  })

  test('of a Service that stands for another name, a plan says nothing where what it stands for is decided at the other name', async () => {
    const plan = await planned([...cluster, alias('db.shop.svc.cluster.local', {}, [{ port: 80 }])], { after: [root] })
    expect(plan.incomplete).toEqual([])
  })
})

describe('of ServiceEntries, which no question is about, a plan', () => {
  const entry = (labels: Labels = {}): KubernetesObject => ({
    apiVersion: 'networking.istio.io/v1',
    kind: 'ServiceEntry',
    metadata: { name: 'pay', namespace: 'shop', labels },
    spec: { hosts: ['pay.example'], ports: [{ number: 443, name: 'tls', protocol: 'TLS' }] },
  })
  const unknown = ['access to the ServiceEntry shop/pay is not compared: it may change']
  const led = [...cluster, entry(LED)]

  test('of ServiceEntries, which no question is about, a plan says that one is not compared where a policy has it as its target', async () => {
    const changed = everything(targeting('ServiceEntry', 'pay', 'networking.istio.io'))
    const plan = await planned(led, { after: [changed] })
    expect(plan.incomplete).toEqual(unknown)
    expect(codeOf(plan)).toBe(3)
  })

  test.each<[string, KubernetesObject[], KubernetesObject[]]>([
    ['a policy of its waypoint', [], [everything(OF_WAYPOINT)]],
    [
      'a policy of all waypoints',
      [],
      [
        {
          ...everything(targeting('GatewayClass', 'istio-waypoint', 'gateway.networking.k8s.io')),
          metadata: { name: 'all', namespace: 'istio-system' },
        },
      ],
    ],
    ['its waypoint', [gateway], []],
    [
      'an account that may be let in',
      [application('job', { labels: ON_MESH, podSpec: { serviceAccountName: 'old' } })[0] as KubernetesObject],
      [application('job', { labels: ON_MESH, podSpec: { serviceAccountName: 'new' } })[0] as KubernetesObject],
    ],
  ])(
    'of ServiceEntries, which no question is about, a plan says so where that changes: %s',
    async (_, before, after) => {
      const guard = custom('guard', { ...targeting('ServiceEntry', 'pay'), action: 'ALLOW', rules: [{}] })
      const plan = await planned([...led, guard, ...before], { before, after })
      expect(plan.incomplete).toEqual(expect.arrayContaining(unknown))
      expect(codeOf(plan)).not.toBe(0)
    },
  )

  test('of ServiceEntries, which no question is about, a plan says nothing of one where no waypoint is on the way, or nothing of its own changes', async () => {
    const unled = await planned([...cluster, entry()], { after: [everything(OF_WAYPOINT)] })
    const elsewhere = await planned(led, { after: [everything(pods('nobody'))] })
    expect([unled.incomplete, elsewhere.incomplete]).toEqual([[], []])
  })

  test('of ServiceEntries, which no question is about, a plan says that they may not be listed, where a policy of a waypoint changes', async () => {
    const all = reading(led)
    const kubernetes: Kubernetes = {
      ...all,
      pages: async (kind, ...rest) => {
        if (kind === 'ServiceEntry')
          throw new ApiError(`LIST ${kind}`, 403, '{"kind":"Status","reason":"Forbidden"}', createMemo())
        return await all.pages(kind, ...rest)
      },
    }
    const said = ['access to ServiceEntries is not compared, and may change: the functions may not list ServiceEntry']
    const changed = await planned(led, { after: [everything(OF_WAYPOINT)] }, { kubernetes })
    const elsewhere = await planned(led, { after: [everything(pods('db'))] }, { kubernetes })
    expect([changed.incomplete, elsewhere.incomplete]).toEqual([said, []])
  })
})
