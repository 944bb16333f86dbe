import { areEnrolling, ENROLMENT_LABEL } from '../../core/relations/enrolment-labels.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { KubernetesObject, Reference } from '../../platform/kubernetes/objects.ts'
import { isOnHost, type PodLike, podLabels } from '../../platform/kubernetes/pod-like.ts'
import { controllerNamed, isLive, isPodOf } from '../../platform/kubernetes/pods.ts'

/** https://istio.io/latest/docs/ambient/usage/add-workloads/ */

type Labels = Readonly<Record<string, string>>

/** The pods of a workload, or of a Service without one, which have no template. */
export type ObservedPods = {
  readonly template?: PodLike
  /** Live ones: they decide, and the template only where there are none. */
  readonly running: readonly PodLike[]
}

/** Returns a running pod, one on the mesh where there is any, else the template; undefined where none is known. */
export const typicalPod = ({ template, running }: ObservedPods, namespace: Labels): PodLike | undefined =>
  running.find((pod) => isOnMesh(pod, namespace)) ?? running[0] ?? template

/** Lists the pods that run and, as one more, the next that is made of the template. */
export const allPods = ({ template, running }: ObservedPods): readonly PodLike[] =>
  template ? [template, ...running] : running

/** Kubernetes runs pods as the ServiceAccount `default` where the pod spec names none. */
export const serviceAccountName = ({ spec }: PodLike): string => spec?.serviceAccountName ?? 'default'

/** Counts the pods on the mesh and all pods; a template without pods counts as one. */
export const countEnrolled = ({ template, running }: ObservedPods, namespace: Labels): { on: number; of: number } => {
  const pods = running.length > 0 || template === undefined ? running : [template]
  return { on: pods.filter((pod) => isOnMesh(pod, namespace)).length, of: pods.length }
}

export const isOnMesh = (pod: PodLike, namespace: Labels): boolean =>
  !isOnHost(pod) && isEnrolled(podLabels(pod), namespace)

/** Tells if the labels put a pod on the mesh, as Istio decides: a pod may opt out of its namespace's enrolment. */
const isEnrolled = (labels: Labels, namespace: Labels): boolean =>
  areEnrolling(labels) || (ownValue(labels, ENROLMENT_LABEL) !== 'none' && areEnrolling(namespace))

/** Tells if any of the pods, or the next one made of their template, has a sidecar or may get one. */
export const someMayHaveSidecar = (pods: ObservedPods, namespace: Labels): boolean =>
  allPods(pods).some((pod) => mayHaveSidecar(pod, namespace))

/**
 * Tells if a pod has a sidecar of Istio's, or may get one: it has an identity without a ztunnel, and enforces policies itself
 * (istio.io/latest/docs/setup/additional-setup/sidecar-injection).
 */
export const mayHaveSidecar = (pod: PodLike, namespace: Labels): boolean => {
  const { metadata: { labels, annotations } = {}, spec: { containers = [], initContainers = [] } = {} } = pod
  if (isGateway(pod)) return false
  if ([...containers, ...initContainers].some(({ name }) => name === 'istio-proxy')) return true
  const wish = ownValue(labels, INJECT) ?? ownValue(annotations, INJECT)
  if (wish !== undefined) return wish === 'true'
  const isInjecting = ownValue(namespace, 'istio-injection') === 'enabled' || Object.hasOwn(namespace, 'istio.io/rev')
  return isInjecting && !isEnrolled(labels ?? {}, namespace)
}

const INJECT = 'sidecar.istio.io/inject'

/** Tells if the pod is a proxy that Istio runs for a Gateway. */
export const isGateway = (pod: PodLike): boolean => gatewayName(pod) !== undefined

/** The Gateway that a pod is a proxy of. */
export const gatewayName = (pod: PodLike): string | undefined => ownValue(podLabels(pod), GATEWAY_NAME)

export const GATEWAY_NAME = 'gateway.networking.k8s.io/gateway-name'

/** The number of the port that is called so by a container. */
export const findNamedPort = ({ spec }: PodLike, wanted: string): number | undefined =>
  spec?.containers?.flatMap(({ ports = [] }) => ports).find(({ name }) => name === wanted)?.containerPort

/** The StatefulSet or Deployment that a pod says it is of: there may be none of that name, as where that was deleted without its pods, or another one. */
export const saidWorkload = (pod: KubernetesObject): Reference | undefined => {
  const { kind, name } = controllerNamed(pod) ?? {}
  const { namespace } = pod.metadata
  return name !== undefined && (kind === 'StatefulSet' || kind === 'Deployment') ? { kind, namespace, name } : undefined
}

/** Tells if a pod runs that is of no workload, and of no Gateway: of a job, a daemon, or by itself. `workload` is the one that it says it is of. */
export const isLonePod = (pod: KubernetesObject, workload: KubernetesObject | undefined): boolean =>
  isLive(pod) && !isGateway(pod as PodLike) && !(workload && isPodOf(workload, pod))

/** The name that such a pod is told by: of what controls it, else its own. */
export const lonePodName = (pod: KubernetesObject): string => controllerNamed(pod)?.name ?? pod.metadata.name
