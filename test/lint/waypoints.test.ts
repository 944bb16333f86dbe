import { expect, test } from 'vitest'
import { createKubernetes } from '../../src/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import { waypointFindings } from '../../src/lint/waypoints.ts'
import { fakeClock } from '../helpers/clock.ts'
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
