import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import { application } from '../helpers/mesh.ts'
import { custom, pods } from '../istio/bookinfo.ts'
import { codeOf, ISTIO, namespace, ON_MESH, onMesh, planned } from './compared.ts'

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
