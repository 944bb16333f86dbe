import { captureOf, ifCaptured, isEnrolled, isMarked, SIDECAR_STATUS } from '../../mesh/istio/capture.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { KubernetesObject, Reference } from '../../platform/kubernetes/objects.ts'
import { isOnHost, type PodLike, podLabels } from '../../platform/kubernetes/pod-like.ts'
import { controllerNamed, isLive, isPodOf } from '../../platform/kubernetes/pods.ts'

/** https://istio.io/latest/docs/ambient/usage/add-workloads/ */

type Labels = Readonly<Record<string, string>>

/** The pods of a workload, or of a Service. Pods of a Service have no template. */
export type ObservedPods = {
  readonly template?: PodLike
  /** The live pods. The template counts only if there are none. */
  readonly running: readonly PodLike[]
  /** Pods of the namespace carry the mark of Istio's CNI, so that a missing one means something. @default some of these do */
  readonly isMarking?: boolean | undefined
}

/** Returns a running pod, preferably one on the mesh, else the template. Returns undefined if neither is known. */
export const typicalPod = ({ template, running }: ObservedPods, namespace: Labels): PodLike | undefined =>
  running.find((pod) => isOnMesh(pod, namespace)) ?? running[0] ?? template

/** Lists the running pods, and the next pod that the template would make. */
export const allPods = ({ template, running }: ObservedPods): readonly PodLike[] =>
  template ? [template, ...running] : running

/** Counts the pods on the mesh and all pods; a template without pods counts as one. */
export const countEnrolled = ({ template, running }: ObservedPods, namespace: Labels): { on: number; of: number } => {
  const pods = running.length > 0 || template === undefined ? running : [template]
  return { on: pods.filter((pod) => isOnMesh(pod, namespace)).length, of: pods.length }
}

/** Tells if the mesh captures a pod, or may do so. */
export const isOnMesh = (pod: PodLike, namespace: Labels): boolean => captureOf(pod, { labels: namespace }).is !== 'off'

/** Lists the reasons why it is not known if the mesh captures running pods, each once. */
export const uncertainCaptures = (pods: ObservedPods, namespace: Labels): string[] => [
  ...new Set(pods.running.flatMap((pod) => uncertainty(pod, pods, namespace) ?? [])),
]

/** Replaces each pod of which it is not known if the mesh captures it by two: one that is captured, and one that is not. */
export const withEachCapture = (pods: ObservedPods, namespace: Labels): ObservedPods => ({
  ...pods,
  running: pods.running.flatMap((pod) =>
    uncertainty(pod, pods, namespace) === undefined ? [pod] : [ifCaptured(pod, true), ifCaptured(pod, false)],
  ),
})

const uncertainty = (
  pod: PodLike,
  { running, isMarking = running.some(isMarked) }: ObservedPods,
  labels: Labels,
): string | undefined => {
  const capture = captureOf(pod, { labels, isMarking })
  return capture.is === 'unknown' ? capture.why : undefined
}

/** Returns the Envoy of the pods or of their template, if one has an Envoy that serves no Gateway. */
export const loneProxy = (pods: ObservedPods, namespace: Labels): 'gateway' | 'sidecar' | undefined =>
  allPods(pods)
    .map((pod) => ownProxy(pod, namespace))
    .find((proxy) => proxy === 'gateway' || proxy === 'sidecar')

/**
 * The Envoy in a pod that enforces the policies there, so that no ztunnel does: the proxy `of a Gateway`, a `gateway` that was deployed without one
 * (istio.io/latest/docs/setup/additional-setup/gateway), or a `sidecar` that the pod has or may get (…/sidecar-injection). Such a pod has an identity
 * without a ztunnel.
 */
export const ownProxy = (pod: PodLike, namespace: Labels): 'of a Gateway' | 'gateway' | 'sidecar' | undefined => {
  if (isGateway(pod)) return 'of a Gateway'
  const { metadata: { labels, annotations } = {}, spec: { containers = [], initContainers = [] } = {} } = pod
  const isProxy = ({ name }: { readonly name?: string }) => name === 'istio-proxy'
  const isInjected = () => {
    // the injector leaves out pods in the network of their node (istio: pkg/kube/inject)
    if (isOnHost(pod)) return false
    if (ownValue(annotations, SIDECAR_STATUS) !== undefined) return true
    const wish = ownValue(labels, INJECT) ?? ownValue(annotations, INJECT)
    if (wish !== undefined) return wish === 'true'
    const isInjecting = ownValue(namespace, 'istio-injection') === 'enabled' || Object.hasOwn(namespace, 'istio.io/rev')
    return isInjecting && !isEnrolled(pod, namespace)
  }
  if (![...containers, ...initContainers].some(isProxy) && !isInjected()) return undefined
  const templates = ownValue(annotations, 'inject.istio.io/templates')?.split(',') ?? []
  return templates.includes('gateway') || (containers.length > 0 && containers.every(isProxy)) ? 'gateway' : 'sidecar'
}

const INJECT = 'sidecar.istio.io/inject'

/** Tells if the pod is a proxy that Istio runs for a Gateway. */
export const isGateway = (pod: PodLike): boolean => gatewayName(pod) !== undefined

/** The Gateway whose proxy the pod is. */
export const gatewayName = (pod: PodLike): string | undefined => ownValue(podLabels(pod), GATEWAY_NAME)

export const GATEWAY_NAME = 'gateway.networking.k8s.io/gateway-name'

/** Finds the number of a named container port. */
export const findNamedPort = ({ spec }: PodLike, wanted: string): number | undefined =>
  spec?.containers?.flatMap(({ ports = [] }) => ports).find(({ name }) => name === wanted)?.containerPort

/**
 * Names the StatefulSet or Deployment that a pod claims to belong to. It may be gone, if it was deleted without its pods, or another one may have its
 * name.
 */
export const saidWorkload = (pod: KubernetesObject): Reference | undefined => {
  const { kind, name } = controllerNamed(pod) ?? {}
  const { namespace } = pod.metadata
  return name !== undefined && (kind === 'StatefulSet' || kind === 'Deployment') ? { kind, namespace, name } : undefined
}

/** Tells if a pod is live and belongs to no workload or Gateway: it is of a job or a DaemonSet, or alone. `workload` is the one that the pod claims. */
export const isLonePod = (pod: KubernetesObject, workload: KubernetesObject | undefined): boolean =>
  isLive(pod) && !isGateway(pod) && !(workload && isPodOf(workload, pod))

/** The name for a pod without a workload: that of its controller, else its own. */
export const lonePodName = (pod: KubernetesObject): string => controllerNamed(pod)?.name ?? pod.metadata.name
