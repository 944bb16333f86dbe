import { describeWait } from '../base/wait.ts'
import { unenforced } from '../istio/acceptance.ts'
import { isNotFound } from '../kubernetes/api-error.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'

/** Names the policies of these namespaces that Istio has not taken: both sides of a comparison are what policies say. */
export const untakenMessages = async (kubernetes: Kubernetes, namespaces: ReadonlySet<string>): Promise<string[]> =>
  unenforced(await policiesIn(kubernetes))
    .filter(({ is, object }) => is === 'pending' && namespaces.has(object.metadata.namespace ?? ''))
    .map(describeWait)

const policiesIn = async (kubernetes: Kubernetes): Promise<KubernetesObject[]> => {
  try {
    return await kubernetes.list('AuthorizationPolicy', undefined)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}
