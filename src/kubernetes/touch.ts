import type { Kubernetes } from './client.ts'
import { identityOf, type KubernetesObject } from './objects.ts'

/** Holds something for a moment only, so that it is nobody's. */
const MANAGER = 'meshstep-fence'

/** An annotation of a moment. */
export const FENCE = 'meshstep.dev/fence'

/**
 * Writes an object and leaves it as it was: a write that somebody sent before, and that is executed late, finds another resourceVersion. On a
 * workload it is its selector that is held for a moment, which never changes: controllers copy annotations.
 */
export const touch = async (kubernetes: Kubernetes, object: KubernetesObject, fence: string): Promise<void> => {
  const { apiVersion, kind, spec } = object
  const identity = identityOf(object)
  const isWorkload = kind === 'StatefulSet' || kind === 'Deployment'
  const held: KubernetesObject = isWorkload
    ? { apiVersion, kind, metadata: identity, spec: { selector: spec?.selector } }
    : { apiVersion, kind, metadata: { ...identity, annotations: { [FENCE]: fence } } }
  const { metadata: touched } = await kubernetes.apply(held, MANAGER)
  const released = { ...identity, ...(touched.resourceVersion && { resourceVersion: touched.resourceVersion }) }
  await kubernetes.apply({ apiVersion, kind, metadata: released }, MANAGER)
}
