import { appliedFields } from '../../platform/kubernetes/applied.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/**
 * Keeps the live number of replicas when the config no longer has one: releasing the field would set it to one. The next client that scales
 * takes the field over.
 */
export const withPresentReplicas = (
  desired: KubernetesObject,
  live: readonly KubernetesObject[],
  manager: string,
): KubernetesObject => {
  if (desired.kind !== 'Deployment' && desired.kind !== 'StatefulSet') return desired
  if (desired.spec?.replicas !== undefined) return desired
  const present = live.find(({ metadata }) => metadata.name === desired.metadata.name)
  const isHeld = present && appliedFields(present, manager)?.['f:spec']?.['f:replicas'] !== undefined
  return isHeld ? { ...desired, spec: { ...desired.spec, replicas: present.spec?.replicas } } : desired
}
