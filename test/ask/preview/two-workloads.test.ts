import { describe, expect, test } from 'vitest'
import { expected } from '../../../src/ask/authorization/check-expectations.ts'
import { Expectation } from '../../../src/ask/authorization/expectation.ts'
import { features } from '../../../src/features.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'
import { custom, pods } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, lines, namespace, ON_MESH, onMesh, planned } from './compared.ts'
import { reading } from './reading.ts'

/** A Deployment that has the name of a StatefulSet, and pods of its own. */
const deployment = (name: string, serviceAccountName: string): KubernetesObject => {
  const [workload] = application(name, { kind: 'Deployment', podSpec: { serviceAccountName } })
  const labels = { role: 'second', ...ON_MESH }
  return {
    ...(workload as KubernetesObject),
    spec: {
      selector: { matchLabels: { role: 'second' } },
      template: { metadata: { labels }, spec: { serviceAccountName, containers: [{ name: 'c' }] } },
    },
  }
}

const cluster = [ISTIO, namespace('shop'), ...onMesh('db'), ...onMesh('web')]

describe('of a StatefulSet and a Deployment of one name, a plan compares', () => {
  test('the pods of both, as targets', async () => {
    const denied = custom('closed', { selector: { matchLabels: { role: 'second' } }, action: 'DENY', rules: [{}] })
    const plan = await planned([...cluster, deployment('db', 'db')], { after: [denied] })
    expect(codeOf(plan)).toBe(2)
  })

  test('the accounts of both, as clients', async () => {
    const allowing = (...names: string[]) =>
      custom('allowed', {
        ...pods('db'),
        action: 'ALLOW',
        rules: [{ from: [{ source: { principals: names.map((name) => `cluster.local/ns/shop/sa/${name}`) } }] }],
      })
    const [before, after] = [allowing('web', 'second'), allowing('web')]
    const plan = await planned([...cluster, deployment('web', 'second'), before], { before: [before], after: [after] })
    expect(codeOf(plan)).toBe(2)
  })
})

/** A pod of a Job, a DaemonSet, or of nobody, that is told by the name `db`. */
const other = (owner: string | undefined): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: owner === undefined ? 'db' : 'db-x',
    namespace: 'shop',
    labels: { role: 'second', ...ON_MESH },
    ...(owner !== undefined && {
      ownerReferences: [{ apiVersion: 'batch/v1', kind: owner, name: 'db', uid: 'u', controller: true }],
    }),
  },
  spec: { serviceAccountName: 'second', containers: [{ name: 'c', ports: [{ containerPort: 9100 }] }] },
  status: { phase: 'Running' },
})

describe('of a workload and other pods that are told by its name, a plan compares', () => {
  test.each([['Job'], ['DaemonSet'], [undefined]])('the pods of both: those of a %s', async (owner) => {
    const denied = custom('closed', { selector: { matchLabels: { role: 'second' } }, action: 'DENY', rules: [{}] })
    const plan = await planned([...cluster, other(owner)], { after: [denied] })
    expect(lines(plan)).toContain('- web → pod/db (pods) :9100')
    expect(lines(plan).filter((line) => line.includes('→ db '))).toEqual([])
    expect([plan.incomplete, codeOf(plan)]).toEqual([[], 2])
  })

  test('an expectation of a workload and of other pods that are told by its name is checked by that name', async () => {
    const principals = ['cluster.local/ns/shop/sa/second']
    const policies = [
      custom('closed', { selector: { matchLabels: { role: 'second' } }, action: 'DENY', rules: [{}] }),
      custom('no-job', { ...pods('web'), action: 'DENY', rules: [{ from: [{ source: { principals } }] }] }),
    ]
    const asked = [
      { from: 'shop/web', to: 'shop/pod/db', port: 9100, allowed: false },
      { from: 'shop/web', to: 'shop/db', port: 9080, allowed: true },
      ...['shop/pod/db', 'shop/sa/second'].map((from) => ({ from, to: 'shop/web', port: 9080, allowed: false })),
    ].map((one) => Expectation.parse(one))
    const kubernetes = reading([...cluster, other('Job'), ...policies])
    const results = await expected(features.memories, kubernetes, asked, undefined)
    expect(results.map(({ met, sentence }) => (met ? '' : sentence))).toEqual(['', '', '', ''])
  })

  test('those of a Service without a workload once: it selects them', async () => {
    const exposed: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'db', namespace: 'shop' },
      spec: { selector: { role: 'second' }, ports: [{ port: 9100 }] },
    }
    const denied = custom('closed', { selector: { matchLabels: { role: 'second' } }, action: 'DENY', rules: [{}] })
    const plan = await planned([ISTIO, namespace('shop'), ...onMesh('web'), exposed, other('DaemonSet')], {
      after: [denied],
    })
    expect(lines(plan).filter((line) => line.startsWith('- web'))).toEqual([
      '- web → db :9100',
      '- web → db (pods) :9100',
    ])
  })
})

describe('of a Gateway that has the name of an application, a plan tells', () => {
  const entrance: KubernetesObject = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'db', namespace: 'shop' },
    spec: { gatewayClassName: 'istio', listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }] },
  }
  const targetRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'db' }]
  const closed = custom('closed', { targetRefs, action: 'DENY', rules: [{}] })

  test('who loses access by a policy of it', async () => {
    const plan = await planned([...cluster, entrance], { after: [closed] })
    expect(lines(plan)).toContain('- (outside the mesh) → gateway/db :80')
    expect(lines(plan).filter((line) => line.includes(' → db '))).toEqual([])
    expect([plan.incomplete, codeOf(plan)]).toEqual([[], 2])
  })

  test('who loses access as it goes', async () => {
    const plan = await planned([...cluster, entrance], { before: [entrance] })
    expect(lines(plan)).toContain('- (outside the mesh) → gateway/db :80')
    expect(codeOf(plan)).toBe(2)
  })

  test('who loses access as the application goes, and the Gateway stays', async () => {
    const plan = await planned([...cluster, entrance], { before: onMesh('db') })
    expect(lines(plan)).toContain('- web → db :9080')
    expect(codeOf(plan)).toBe(2)
  })

  test('what it loses access to', async () => {
    const principals = ['cluster.local/ns/shop/sa/db-istio']
    const denied = custom('closed', { ...pods('web'), action: 'DENY', rules: [{ from: [{ source: { principals } }] }] })
    const plan = await planned([...cluster, entrance], { after: [denied] })
    expect(lines(plan)).toEqual(['- gateway/db → web :9080', '- gateway/db → web (pods) :9080'])
    expect(codeOf(plan)).toBe(2)
  })

  test('of a Gateway that has the name of an application, a plan tells whether an expectation of it is met, which names it by its kind', async () => {
    const kubernetes = reading([...cluster, entrance, closed])
    const asked = ['shop/gateway/db', 'shop/db'].map((to) => ({ to, port: 80, allowed: false }))
    const results = await expected(features.memories, kubernetes, asked, undefined)
    expect(results.map(({ met }) => met)).toEqual([true, false])
    expect(results[0]?.sentence).toContain('the gateway shop/db')
  })
})
