import { at, type KubernetesObject, listOf, mapOf } from '../kinds/json.ts'
import { kindOf } from '../kinds/kinds.ts'
import type { World } from '../store/world.ts'
import { plans } from '../workloads/pod-plans.ts'
import { podsOf } from '../workloads/settle.ts'

/** Stores objects as another cluster has them; one that is there already stays as it is. */
export const adopt = (world: World, objects: readonly KubernetesObject[]): void => {
  const namespaces = new Set<string | undefined>()
  for (const object of objects) {
    const kind = kindOf(object.apiVersion, object.kind)
    const { namespace, name } = object.metadata
    if (kind === undefined || world.store.get(kind, namespace, name)) continue
    world.store.adopt(kind, object)
    if (object.kind === 'Pod' || plans[object.kind]) namespaces.add(namespace)
  }
  for (const namespace of namespaces) alignPods(world, namespace)
}

/** Pods are told from those of another template by a hash, also in the name of their ReplicaSet, which every cluster makes in its own way. */
const alignPods = (world: World, namespace: string | undefined): void => {
  const podKind = kindOf('v1', 'Pod')
  if (podKind === undefined) return
  const workloads = Object.keys(plans).flatMap((kind) => {
    const known = kindOf('apps/v1', kind)
    return known === undefined ? [] : world.store.list(known, namespace)
  })
  for (const workload of workloads) {
    const plan = plans[workload.kind]?.(workload)
    for (const pod of plan ? podsOf(world, workload) : []) {
      const labels = { ...pod.metadata.labels, [String(plan?.hashLabel)]: String(plan?.hash) }
      const ownerReferences = listOf(pod.metadata.ownerReferences).map((owner) =>
        at(owner, 'kind') === 'ReplicaSet'
          ? { ...mapOf(owner), name: `${workload.metadata.name}-${plan?.hash}` }
          : owner,
      )
      world.store.adopt(podKind, { ...pod, metadata: { ...pod.metadata, labels, ownerReferences } })
    }
  }
}
