import type { KubernetesObject } from '../kubernetes/objects.ts'
import type { AuthorizationPolicySpec, TargetRef } from './authorization-policy.ts'

const specOf = ({ spec }: KubernetesObject): AuthorizationPolicySpec => spec ?? {}

const refsOf = ({ targetRef, targetRefs = [] }: AuthorizationPolicySpec): TargetRef[] => [
  ...(targetRef ? [targetRef] : []),
  ...targetRefs,
]

/** Tells the targets of policies apart: the same for two that guard the same, however they say it. */
export const attachmentKey = (policy: KubernetesObject): string => {
  const spec = specOf(policy)
  const labels = Object.entries(spec.selector?.matchLabels ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const refs = refsOf(spec).map(({ group = '', kind, namespace = '', name }) =>
    [group, kind, namespace, name].join('/'),
  )
  return JSON.stringify([policy.metadata.namespace, labels, refs.toSorted()])
}

/** Whether it holds for its whole namespace, or for all waypoints, and not for some target. */
export const isForAll = (policy: KubernetesObject): boolean => {
  const spec = specOf(policy)
  const isSelecting = Object.keys(spec.selector?.matchLabels ?? {}).length > 0
  return !isSelecting && refsOf(spec).every(({ kind }) => kind === 'GatewayClass')
}

/** Whether it guards the application's pods, or one of its Services. */
export const isGuarding = (policy: KubernetesObject, names: readonly string[]): boolean => {
  const spec = specOf(policy)
  return (
    Object.values(spec.selector?.matchLabels ?? {}).some((value) => names.includes(value)) ||
    refsOf(spec).some(({ kind, name }) => kind === 'Service' && names.includes(name))
  )
}
