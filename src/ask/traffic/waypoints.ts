import { namedWaypoint } from '../../mesh/istio/names.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** Lists the waypoints that labels of Services or of their namespace name, each once. */
export const waypointsOf = (
  namespace: string,
  home: KubernetesObject | undefined,
  services: readonly KubernetesObject[],
): { readonly namespace: string; readonly name: string }[] => {
  const named = [home, ...services].flatMap((one) => namedWaypoint(one?.metadata.labels, namespace) ?? [])
  return [...new Map(named.map((one) => [`${one.namespace}/${one.name}`, one])).values()]
}
