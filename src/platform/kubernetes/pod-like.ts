import type { Typed } from './typed.ts'

type Labels = Readonly<Record<string, string>>

/** A pod, or the template of a workload. */
export type PodLike = Typed<'Pod'>

export const podTemplate = ({ spec }: Typed<'Workload'>): PodLike => spec?.template ?? {}

export const podLabels = ({ metadata }: PodLike): Labels => metadata?.labels ?? {}

/** Kubernetes runs pods as the ServiceAccount `default` if the pod spec names none. */
export const serviceAccountName = ({ spec }: PodLike): string => spec?.serviceAccountName ?? 'default'

/** Tells if a pod runs in its node's network, so that it has no address of its own. */
export const isOnHost = ({ spec }: PodLike): boolean => spec?.hostNetwork === true
