import { describe, expect, test } from 'vitest'
import type { Cluster } from '../../../src/ask/lint/cluster.ts'
import { waypointFindings } from '../../../src/ask/lint/waypoints.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../../helpers/clock.ts'
import { clusterOf, deployment, waypoint } from './cluster.ts'

const clock = fakeClock()

/** An API server that answers lists of some paths, and knows no others. */
const answering = (lists: Readonly<Record<string, readonly KubernetesObject[] | 'forbidden'>>) =>
  createKubernetes({
    transport: async ({ path }) => {
      const plural = path.replace(/\?.*/, '').replace(/.*\//, '')
      const items = lists[plural]
      const refusal = (code: number, reason: string) => ({
        ...{ status: code, headers: {} },
        body: JSON.stringify({ kind: 'Status', metadata: {}, status: 'Failure', reason, message: reason, code }),
      })
      if (items === undefined) return refusal(404, 'NotFound')
      if (items === 'forbidden') return refusal(403, 'Forbidden')
      return { status: 200, headers: {}, body: JSON.stringify({ kind: `${KINDS[plural]}List`, metadata: {}, items }) }
    },
    clock,
    deadline: clock.now() + 60_000,
  })

const KINDS: Readonly<Record<string, string>> = {
  ...{ namespaces: 'Namespace', services: 'Service', pods: 'Pod', serviceentries: 'ServiceEntry' },
  ...{ statefulsets: 'StatefulSet', deployments: 'Deployment' },
}
const NOTHING = { namespaces: [], services: [], pods: [], statefulsets: [], deployments: [] }
const entry = (labels: Record<string, string>): KubernetesObject => ({
  ...{ apiVersion: 'networking.istio.io/v1', kind: 'ServiceEntry' },
  metadata: { name: 'elsewhere', namespace: 'shop', labels },
})
const found = async (lists: Parameters<typeof answering>[0], objects: readonly KubernetesObject[] = []) =>
  (await waypointFindings(answering({ ...NOTHING, ...lists }), clusterOf([waypoint('egress'), ...objects]))).map(
    ({ rule }) => rule,
  )

test('a waypoint that nothing names is told, also where no ServiceEntries are known', async () => {
  expect(await found({})).toEqual(['waypoint-unused'])
  expect(await found({ serviceentries: [entry({})] })).toEqual(['waypoint-unused'])
})

test('a waypoint that only a ServiceEntry names is used', async () => {
  expect(await found({ serviceentries: [entry({ 'istio.io/use-waypoint': 'egress' })] })).toEqual([])
})

test('nothing is told of a waypoint where ServiceEntries may not be listed', async () => {
  expect(await found({ serviceentries: 'forbidden' })).toEqual([])
})

test('a waypoint that the template of a workload without pods names is used', async () => {
  const named = { metadata: { labels: { 'istio.io/use-waypoint': 'egress' } } }
  const workload = { ...deployment('db'), spec: { replicas: 0, template: named } }
  expect(await found({}, [workload])).toEqual([])
  const elsewhere = {
    metadata: { labels: { 'istio.io/use-waypoint': 'egress', 'istio.io/use-waypoint-namespace': 'shop' } },
  }
  const other = { ...workload, metadata: { name: 'x', namespace: 'bank' }, spec: { template: elsewhere } }
  expect(await found({ deployments: [other] })).toEqual([])
})

describe('a label that names a waypoint', () => {
  const use = (name: string, rest = {}) => ({ 'istio.io/use-waypoint': name, ...rest })
  const labelled = (kind: string, name: string, labels: Record<string, string>): KubernetesObject => ({
    ...{ apiVersion: '', kind, spec: { template: { metadata: { labels } } } },
    metadata: { name, namespace: 'shop', labels: kind === 'Deployment' ? {} : labels },
  })
  const missing = async (changes: Partial<Cluster>, objects: readonly KubernetesObject[] = []) =>
    (await waypointFindings(answering(NOTHING), clusterOf([waypoint('egress'), ...objects], changes))).flatMap(
      ({ rule, about, message }) => (rule === 'waypoint-missing' ? [[about, message]] : []),
    )

  test.each([
    ['of a Service', labelled('Service', 'db', use('w')), 'Service shop/db', 'shop/w'],
    ['of a template', labelled('Deployment', 'db', use('w')), 'Deployment shop/db', 'shop/w'],
    [
      'in another namespace',
      labelled('Service', 'db', use('egress', { 'istio.io/use-waypoint-namespace': 'mesh' })),
      'Service shop/db',
      'mesh/egress',
    ],
  ])('a label that names a waypoint that does not exist is told: %s', async (_, object, about, name) => {
    expect(await missing({}, [object])).toEqual([
      [about, `its label istio.io/use-waypoint names the waypoint ${name}, which does not exist`],
    ])
  })

  test('a label that names a waypoint that does not exist is told of a namespace, and of a canary', async () => {
    const home = { apiVersion: '', kind: 'Namespace', metadata: { name: 'shop', labels: use('w') } }
    expect(await missing({ home })).toMatchObject([['Namespace shop', expect.stringContaining('shop/w')]])
    const both = labelled('Service', 'db', { ...use('egress'), 'istio.io/use-waypoint-canary': 'next' })
    expect(await missing({}, [both])).toMatchObject([['Service shop/db', expect.stringContaining('shop/next')]])
  })

  test('a label that names a waypoint that exists, that is none, or that may not be read is not told', async () => {
    expect(await missing({}, [labelled('Service', 'db', use('egress'))])).toEqual([])
    expect(await missing({}, [labelled('Service', 'db', use('none'))])).toEqual([])
    expect(await missing({ gateways: undefined }, [labelled('Service', 'db', use('w'))])).toEqual([])
  })
})
