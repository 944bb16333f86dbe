import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type AuthorizationPolicySpec, specOf, type TargetRef } from './authorization-policy.ts'

/** The target references of a policy, of both forms. */
export const refsOf = ({ targetRef, targetRefs = [] }: AuthorizationPolicySpec): TargetRef[] => [
  ...(targetRef ? [targetRef] : []),
  ...targetRefs,
]

/** Computes a key that is equal for policies with equal targets, however they are written. */
export const attachmentKey = (policy: KubernetesObject): string => {
  const spec = specOf(policy)
  const labels = Object.entries(spec.selector?.matchLabels ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const refs = refsOf(spec).map(({ group = '', kind, namespace = '', name }) =>
    [group, kind, namespace, name].join('/'),
  )
  return JSON.stringify([policy.metadata.namespace, labels, refs.toSorted()])
}

/** Tells if the policy applies to its whole namespace, or to all waypoints. */
export const isForAll = (policy: KubernetesObject): boolean => {
  const spec = specOf(policy)
  const isSelecting = Object.keys(spec.selector?.matchLabels ?? {}).length > 0
  return !isSelecting && refsOf(spec).every(({ kind }) => kind === 'GatewayClass')
}

/** Tells if the policy selects pods. */
export const isForPods = (policy: KubernetesObject): boolean => specOf(policy).selector !== undefined

/** Tells if the policy guards the application's pods, or one of its Services. */
export const isGuarding = (policy: KubernetesObject, names: readonly string[]): boolean => {
  const spec = specOf(policy)
  return (
    Object.values(spec.selector?.matchLabels ?? {}).some((value) => names.includes(value)) ||
    refsOf(spec).some(({ kind, name }) => kind === 'Service' && names.includes(name))
  )
}
