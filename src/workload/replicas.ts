import type { KubernetesObject } from '../kubernetes/objects.ts'

/**
 * A workload that is told no number of replicas any more keeps those it has: letting go of the number would set it to one. Whoever scales
 * it from then on takes the number over.
 */
export const withPresentReplicas = (
  desired: KubernetesObject,
  live: readonly KubernetesObject[],
  manager: string,
): KubernetesObject => {
  if (desired.kind !== 'Deployment' && desired.kind !== 'StatefulSet') return desired
  if (desired.spec?.replicas !== undefined) return desired
  const present = live.find(({ metadata }) => metadata.name === desired.metadata.name)
  const isHeld = present?.metadata.managedFields?.some(
    (entry) =>
      entry.manager === manager &&
      entry.operation === 'Apply' &&
      Object.hasOwn((entry.fieldsV1?.['f:spec'] ?? {}) as object, 'f:replicas'),
  )
  return isHeld ? { ...desired, spec: { ...desired.spec, replicas: present?.spec?.replicas } } : desired
}
