import type { KubernetesObject } from './objects.ts'

type Labels = Readonly<Record<string, string>>

type Container = { readonly name?: string; readonly ports?: readonly { name?: string; containerPort: number }[] }

type PodSpec = {
  readonly serviceAccountName?: string
  readonly hostNetwork?: boolean
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
}

/** A pod, or the template of a workload. */
export type PodLike = {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Labels }
  readonly spec?: PodSpec
  readonly status?: { readonly phase?: string }
}

export const podTemplate = ({ spec }: KubernetesObject): PodLike => (spec?.template ?? {}) as PodLike

export const podLabels = ({ metadata }: PodLike): Labels => metadata?.labels ?? {}

/** Kubernetes runs pods as the ServiceAccount `default` if the pod spec names none. */
export const serviceAccountName = ({ spec }: PodLike): string => spec?.serviceAccountName ?? 'default'

/** Tells if a pod runs in its node's network, so that it has no address of its own. */
export const isOnHost = ({ spec }: PodLike): boolean => spec?.hostNetwork === true
