import { memoryOwner } from '../../core/state/memory.ts'
import { perObject } from '../../platform/base/per-object.ts'
import { ifPermitted } from '../../platform/kubernetes/api-error.ts'
import { type Kubernetes, readingOnce } from '../../platform/kubernetes/client.ts'
import { isMet, requirementsIn } from '../../platform/kubernetes/label-selector.ts'
import type { Kind, KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { MEMORY_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'

const LISTED: readonly Kind[] = ['StatefulSet', 'Deployment', 'Service']

/** Wraps a client for a map with many applications: it lists a namespace once instead of reading objects one by one. */
export const readingLists = (kubernetes: Kubernetes): Kubernetes => {
  const once = readingOnce(kubernetes)
  const byName = perObject(
    (objects: readonly KubernetesObject[]) => new Map(objects.map((object) => [object.metadata.name, object])),
  )
  const listed = async (kind: Kind, namespace: string, selector?: string) => {
    const objects = await ifPermitted(once.list(kind, namespace, selector))
    return objects && byName(objects)
  }

  return {
    ...once,
    find: async (reference) => {
      const { kind, namespace, name } = reference
      if (namespace === undefined || name === undefined) return await once.find(reference)
      if (memoryOwner(reference)) {
        const found = (await listed(kind, namespace, MEMORY_SELECTOR))?.get(name)
        return found ?? (await once.find(reference))
      }
      const all = LISTED.includes(kind as Kind) ? await listed(kind as Kind, namespace) : undefined
      return all ? all.get(name) : await once.find(reference)
    },
    list: async (kind, namespace, selector) => {
      const wanted = selector ? requirementsIn(selector) : undefined
      if (kind !== 'Pod' || namespace === undefined || wanted === undefined)
        return await once.list(kind, namespace, selector)
      const pods = (await ifPermitted(once.list(kind, namespace))) ?? []
      return pods.filter((pod) => wanted.every((one) => isMet(one, pod)))
    },
  }
}
