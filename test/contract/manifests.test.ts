import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { buildCombination } from '../knative/builds.ts'
import { all, KnativeService } from '../knative/kinds.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, noCluster, openCluster, pod } from './cluster.ts'

const components = ['mesh', 'authentication', 'network']

let cluster: Cluster
beforeAll(async () => {
  if (!noCluster) cluster = await openCluster(components)
})
afterAll(() => cluster?.close())

describe.skipIf(noCluster)(`the manifests ${noCluster ?? ''}`, () => {
  test('the manifests are taken by the API server, which finds nothing wrong with the CEL in them', async () => {
    const objects = buildCombination(components, cluster.namespace)
    await cluster.install(objects.filter(({ kind }) => /^(NetworkPolicy|Validating.*)$/.test(kind)))
  })

  test('the manifests run as pods in a namespace that enforces the pod security standard "restricted"', async () => {
    const enforce = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } }
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster.namespace } }
    await cluster.merge(namespace, enforce, 'test')
    const refused = (object: KubernetesObject) =>
      cluster.kubernetes.create(object, 'test').then(
        () => undefined,
        (error: Error) => error.message,
      )
    await until('it is enforced', async () => {
      const message = await refused(pod(cluster.namespace))
      return message?.includes('violates PodSecurity "restricted')
    })
    const services = all(buildCombination(['functions'], cluster.namespace), KnativeService)
    expect(services).toHaveLength(8)
    for (const { metadata, spec } of services) {
      const { containers, serviceAccountName } = spec.template.spec
      // a probe without a port is Knative's, which asks where the container listens
      const [{ readinessProbe: _, livenessProbe: __, ...container }] = containers
      const { metadata: named, ...rest } = pod(cluster.namespace)
      const running = { serviceAccountName, containers: [{ name: 'user-container', ...container }] }
      const object = { ...rest, metadata: named, spec: { ...rest.spec, ...running } }
      expect(await refused(object), metadata.name).toBeUndefined()
    }
  })
})
