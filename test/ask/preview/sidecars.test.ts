import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application, waypoint } from '../../helpers/mesh.ts'
import { custom, pods, service } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, lines, namespace, ON_MESH, onMesh, planned } from './compared.ts'

/** A client with a sidecar, whose identity is not known for certain: any workload of Istio's classic mode, and its ingress gateway. */
const classic = application('classic', {
  podSpec: {
    serviceAccountName: 'classic',
    containers: ['app', 'istio-proxy'].map((name) => ({ name, image: `${name}:1` })),
  },
})

const LED = { ...ON_MESH, 'istio.io/use-waypoint': 'w' }

const cluster = [
  ...[ISTIO, namespace('shop'), ...onMesh('db'), ...onMesh('web'), ...classic, ...application('api', { labels: LED })],
  waypoint({ metadata: { name: 'w', namespace: 'shop', labels: { 'istio.io/waypoint-for': 'service' } } }),
]

const account = (name: string) => ({ from: [{ source: { principals: [`cluster.local/ns/shop/sa/${name}`] } }] })

const planOf = async (...after: KubernetesObject[]) =>
  await planned([...cluster], { after }, { autoAllowWaypoint: false })

describe('of a client with a sidecar, a plan', () => {
  test('of a client with a sidecar, a plan says nothing where its answers stay the same, whoever the target takes it for', async () => {
    const denied = custom('closed', { ...pods('db'), action: 'DENY', rules: [account('web')] })
    const plan = await planOf(denied)
    expect(lines(plan)).toEqual(['- web → db :9080', '- web → db (pods) :9080'])
    expect([plan.incomplete, codeOf(plan)]).toEqual([[], 2])
  })

  test.each<[string, KubernetesObject]>([
    ['its account is refused', custom('closed', { ...pods('db'), action: 'DENY', rules: [account('classic')] })],
    ['whoever has no identity is refused', custom('open', { ...pods('db'), action: 'ALLOW', rules: [account('*')] })],
    [
      'its account is refused at a waypoint, which it may pass',
      custom('closed', {
        ...service('api'),
        action: 'DENY',
        rules: [{ ...account('classic'), to: [{ operation: { paths: ['/a'] } }] }],
      }),
    ],
    [
      'its account is refused at pods, which it may reach past their waypoint',
      custom('closed', { ...pods('api'), action: 'DENY', rules: [account('classic')] }),
    ],
  ])('of a client with a sidecar, a plan says that it is not known where %s', async (_, policy) => {
    const plan = await planOf(policy)
    expect(plan.incomplete).toEqual([expect.stringContaining('the client has a sidecar, or may have one')])
    expect(codeOf(plan)).not.toBe(0)
  })

  test('of a client with a sidecar, a plan tells its account from that of another one with a sidecar', async () => {
    const other = application('other', {
      podSpec: {
        serviceAccountName: 'other',
        containers: ['app', 'istio-proxy'].map((name) => ({ name, image: `${name}:1` })),
      },
    })
    const denied = custom('closed', { ...pods('db'), action: 'DENY', rules: [account('other')] })
    const plan = await planned([...cluster, ...other], { after: [denied] })
    expect(plan.incomplete).toEqual([expect.stringContaining('shop/other')])
    expect(codeOf(plan)).toBe(3)
  })
})
