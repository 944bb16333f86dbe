import { ifPermitted, ifServed } from './api-error.ts'
import type { Kubernetes } from './client.ts'
import type { Kind, KubernetesObject } from './objects.ts'

/**
 * Lists a kind in a namespace, or in all, with a selector if one is given. Resolves to undefined if that is not permitted, and to an empty list for a kind
 * that is not served.
 */
export const listReadable = async (
  kubernetes: Kubernetes,
  kind: Kind,
  namespace: string | undefined,
  selector?: string,
): Promise<readonly KubernetesObject[] | undefined> =>
  await ifPermitted(ifServed(kubernetes.list(kind, namespace, selector)).then((objects) => objects ?? []))
