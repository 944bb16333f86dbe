import { captureOf, isMarked } from '../../mesh/istio/capture.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { isLive } from '../../platform/kubernetes/pods.ts'
import { isSelecting } from '../../platform/kubernetes/services.ts'
import { lonePodName } from '../authorization/pods.ts'

/**
 * Names the targets of a namespace with pods that are all on the mesh, `namespace/name`: the controllers of pods, and the Services that select them. Their
 * proxies report all traffic to them, so that silence means something.
 */
export const targetsOnMesh = (
  namespace: KubernetesObject | undefined,
  pods: readonly KubernetesObject[],
  services: readonly KubernetesObject[],
): string[] => {
  const home = { labels: namespace?.metadata.labels, isMarking: pods.some(isMarked) }
  const live = pods.filter(isLive).map((pod) => ({
    isOn: captureOf(pod, home).is === 'on',
    names: namesOf(pod, services),
  }))
  const off = new Set(live.flatMap(({ isOn, names }) => (isOn ? [] : names)))
  return [...new Set(live.flatMap(({ names }) => names))].filter((name) => !off.has(name)).toSorted()
}

/**
 * Lists the names that mean the same pods, as far as they differ: those of a controller and of the Services that select its pods. A proxy may say any of them
 * for one request.
 */
export const samePodsIn = (pods: readonly KubernetesObject[], services: readonly KubernetesObject[]): string[][] => {
  const all = pods.filter(isLive).map((pod) => namesOf(pod, services))
  return [...new Map(all.map((names) => [names.join(' '), names])).values()].filter(({ length }) => length > 1)
}

const namesOf = (pod: KubernetesObject, services: readonly KubernetesObject[]): string[] => {
  const selecting = services
    .filter((one) => isSelecting(one, pod.metadata.labels ?? {}))
    .map(({ metadata: { name } }) => name)
  return [...new Set([lonePodName(pod), ...selecting])].map((name) => `${pod.metadata.namespace}/${name}`).toSorted()
}
