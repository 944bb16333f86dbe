import { memoryName } from '../../src/core/state/memory.ts'
import type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createWorld, event, NAMESPACE } from './world.ts'

/** A memory of some 100 kB, most of it in a databag. */
const largeMemory = async (): Promise<KubernetesObject> => {
  const data = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [`key-${index}`, `${Math.sqrt(index + 2)}`.padEnd(80, `${index}`)]),
  )
  const world = createWorld()
  const relation = { id: 1, endpoint: 'ingress', interface: 'ingress', role: 'requires' }
  await world.send('relation-changed', { relation, remote: { application: 'traefik', data } })
  const memory = world.object('ConfigMap', memoryName('web'))
  if (!memory) throw new Error('no memory was made')
  return memory
}

/** The same memory for an application of another name. */
const memoryOf = (memory: KubernetesObject, application: string): KubernetesObject => {
  const { labels, annotations } = memory.metadata
  const named = Object.fromEntries(
    Object.entries(labels ?? {}).map(([key, value]) => [key, value === 'web' ? application : value]),
  )
  return {
    ...memory,
    metadata: {
      name: memoryName(application),
      namespace: NAMESPACE,
      labels: named,
      ...(annotations && { annotations }),
    },
  }
}

export const configDocument = (application: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `config-${application}`, namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'config' } },
  data: { application, config: JSON.stringify({ labels: { tier: 'gold' } }) },
})

/** The memories of so many other applications, of 100 kB each. */
export const crowd = async (count: number): Promise<KubernetesObject[]> => {
  const large = await largeMemory()
  return Array.from({ length: count }, (_, index) => memoryOf(large, `app-${index}`))
}

/** The event that a source sends of the config document of an application. */
export const documentEvent = (application: string): Event =>
  event(
    'config-changed',
    {},
    {
      type: 'dev.knative.apiserver.resource.add',
      subject: `/apis/v1/namespaces/${NAMESPACE}/configmaps/config-${application}`,
      data: configDocument(application),
    },
  )
