import { ownValue } from '../base/own-value.ts'
import { ENROLMENT_LABEL } from '../istio/names.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'

/** https://istio.io/latest/docs/ambient/usage/add-workloads/ */

type Labels = Readonly<Record<string, string>>

type Container = { readonly name?: string; readonly ports?: readonly { name?: string; containerPort: number }[] }

type PodSpec = {
  readonly serviceAccountName?: string
  readonly hostNetwork?: boolean
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
}

/** A pod, or what a workload makes its pods of. */
export type PodLike = {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Labels }
  readonly spec?: PodSpec
}

/** The pods of a workload, or of a Service without one, which have no template. */
export type ObservedPods = {
  readonly template?: PodLike
  /** Read only where the template does not set the data plane mode. */
  readonly running: readonly PodLike[]
}

export const podTemplate = ({ spec }: KubernetesObject): PodLike => (spec?.template ?? {}) as PodLike

export const podLabels = ({ metadata }: PodLike): Labels => metadata?.labels ?? {}

/** Tells if the pod's own labels set the data plane mode. */
export const hasDataplaneMode = (pod: PodLike): boolean => ownValue(podLabels(pod), ENROLMENT_LABEL) !== undefined

/** Returns the template, or any running pod; undefined where none is known. */
export const typicalPod = ({ template, running }: ObservedPods): PodLike | undefined => template ?? running[0]

/** Counts the pods on the mesh and all pods; a template without pods counts as one. */
export const countEnrolled = ({ template, running }: ObservedPods, namespace: Labels): { on: number; of: number } => {
  const pods = running.length > 0 || template === undefined ? running : [template]
  return { on: pods.filter((pod) => !isOnHost(pod) && isEnrolled(podLabels(pod), namespace)).length, of: pods.length }
}

/** Istio captures no pod in the network of its node, whatever its labels: it has no identity, and no ztunnel guards it. */
const isOnHost = ({ spec }: PodLike): boolean => spec?.hostNetwork === true

/** Tells if a pod is on the mesh, as Istio decides: a pod may opt out of its namespace's enrolment. */
const isEnrolled = (labels: Labels, namespace: Labels): boolean =>
  ownValue(labels, ENROLMENT_LABEL) === 'ambient' ||
  (ownValue(labels, ENROLMENT_LABEL) !== 'none' && ownValue(namespace, ENROLMENT_LABEL) === 'ambient')

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
