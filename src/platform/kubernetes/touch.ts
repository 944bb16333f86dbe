import type { Kubernetes } from './client.ts'
import { identityOf, type KubernetesObject } from './objects.ts'

/** The field manager of a touch. It holds its field only for a moment. */
const MANAGER = 'meshstep-fence'

/** The annotation that a touch writes and removes. */
export const FENCE = 'meshstep.dev/fence'

/** Tells if a touch of the object has begun and not ended, perhaps because its process died. Another touch ends it. */
export const isTouchOpen = ({ metadata: { managedFields = [] } }: KubernetesObject): boolean =>
  managedFields.some(({ manager }) => manager === MANAGER)

/**
 * Writes an object and restores it, so that an earlier write that arrives late finds another resourceVersion and fails. A workload is touched at its
 * selector, which never changes, because controllers copy annotations.
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
