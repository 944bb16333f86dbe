import { describe, expect, test } from 'vitest'
import { PodWorkload } from '../../../src/core/workload/config.ts'
import { workloadManager, workloadObjects } from '../../../src/core/workload/objects.ts'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { fieldManager } from '../../../src/platform/kubernetes/ownership-labels.ts'
import { fakeClock } from '../../helpers/clock.ts'
import { podSpec, reordered, SUBJECT, workload } from './samples.ts'

const isWorkload = ({ kind }: KubernetesObject) => kind === 'StatefulSet' || kind === 'Deployment'

const MESH = { 'istio.io/dataplane-mode': 'ambient' }

const cluster = () => {
  const clock = fakeClock()
  const api = createEmbeddedApi({ now: () => new Date(clock.now()) })
  api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }])
  const transport = async (request: Parameters<typeof api.handle>[0]) => api.handle(request)
  const kubernetes = createKubernetes({ transport, clock, deadline: clock.now() + 10_000 })
  // an account is none of the kinds that the client knows by name
  const apply = async (objects: readonly KubernetesObject[]) =>
    await Promise.all(
      objects
        .filter(({ kind }) => kind !== 'ServiceAccount')
        .map((object) => kubernetes.apply(object, workloadManager('web'))),
    )
  const versions = (objects: readonly KubernetesObject[]) =>
    objects.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`)
  return { kubernetes, apply, versions }
}

const KINDS = ['stateless', 'stateful'] as const

describe.each(KINDS)('what an API server makes of a %s workload', (type) => {
  const given = PodWorkload.parse(
    workload({
      deployment: { type },
      podSpec: { ...podSpec(), initContainers: [{ name: 'init', image: 'i', ports: [{ containerPort: 81 }] }] },
    }),
  )

  test('an equal spec, whatever the order of its keys, is no write', async () => {
    const { apply, versions } = cluster()
    const first = versions(await apply(workloadObjects(SUBJECT, given)))
    expect(versions(await apply(workloadObjects(SUBJECT, reordered(given))))).toEqual(first)
    expect(versions(await apply(workloadObjects(SUBJECT, { ...given, podSpec: podSpec('web:2') })))).not.toEqual(first)
  })

  test('labels of the mesh on the template stay, and are no conflict', async () => {
    const { kubernetes, apply, versions } = cluster()
    const objects = workloadObjects(SUBJECT, given)
    const made = (await apply(objects)).find(isWorkload)
    const { apiVersion, kind, metadata } = made as KubernetesObject
    const labelled = await kubernetes.apply(
      {
        apiVersion,
        kind,
        metadata: { name: 'web', namespace: 'shop', uid: metadata.uid as string },
        spec: { template: { metadata: { labels: MESH } } },
      },
      fieldManager('web'),
    )
    const again = (await apply(objects)).filter(isWorkload)
    expect(versions(again)).toEqual(versions([labelled]))
    const upgraded = (await apply(workloadObjects(SUBJECT, { ...given, podSpec: podSpec('web:2') }))).find(isWorkload)
    expect(upgraded?.spec).toMatchObject({ template: { metadata: { labels: MESH } } })
  })
})

test('what a person or an autoscaler scaled stays', async () => {
  const { kubernetes, apply } = cluster()
  const objects = workloadObjects(SUBJECT, workload())
  await apply(objects)
  const { apiVersion, kind } = objects.find(isWorkload) as KubernetesObject
  const scale = { apiVersion, kind, metadata: { name: 'web', namespace: 'shop' }, spec: { replicas: 5 } }
  await kubernetes.apply(scale, 'autoscaler')
  const again = (await apply(objects)).find(isWorkload)
  expect(again?.spec).toHaveProperty('replicas', 5)
})
