import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import type { Cluster } from '../../src/lint/cluster.ts'
import { policyFindings } from '../../src/lint/policies.ts'
import { clusterOf, deployment, pod, serviceAtWaypoint, waypoint } from './cluster.ts'
import { forPods, forService, policy } from './place.ts'

const found = (objects: readonly KubernetesObject[], changes: Partial<Cluster> = {}) =>
  policyFindings(clusterOf([waypoint(), ...objects], changes)).map(({ rule, message }) => [rule, message])

test('a policy selects what is made of the template of a workload that is scaled to nothing', () => {
  expect(found([policy('one', { ...forPods('db'), rules: [{}] }), deployment('db')])).toEqual([])
  expect(found([policy('one', { ...forPods('db'), rules: [{}] }), deployment('web'), pod('web')])).toMatchObject([
    ['policy-unmatched', expect.stringContaining('it selects no pod of shop')],
  ])
})

const HTTP = { name: 'http', port: 80 }

describe('a port', () => {
  const forBoth = {
    targetRefs: ['db', 'web'].map((name) => ({ group: '', kind: 'Service', name })),
  }
  const services = [serviceAtWaypoint('db', HTTP), serviceAtWaypoint('web', { name: 'http', port: 443 })]
  const named = (...ports: string[]) => policy('one', { ...forBoth, rules: [{ to: [{ operation: { ports } }] }] })

  test('that one of several Services has is known', () => {
    expect(found([...services, named('80', '443')])).toEqual([])
  })

  test('that none of them has is told once', () => {
    expect(found([...services, named('80', '81')])).toEqual([
      ['port-unknown', 'the Service shop/db has no port 81, but 80; the Service shop/web has no port 81, but 443'],
    ])
  })
})

test('nothing enforces a policy of a Service without an address, whatever waypoint its label names', () => {
  const headless = serviceAtWaypoint('db', HTTP, { clusterIP: 'None' })
  expect(found([headless, policy('one', { ...forService('db'), rules: [{}] })])).toEqual([
    [
      'policy-unenforced',
      'nothing enforces it: the Service shop/db has no address of its own: requests go straight to the pods',
    ],
  ])
})
