import { unenforced } from '../../mesh/istio/acceptance.ts'
import { describeWait } from '../../platform/base/wait.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** Names the policies of these namespaces that Istio has not taken. The comparison treats them as enforced. */
export const pendingMessages = (objects: readonly KubernetesObject[], namespaces: ReadonlySet<string>): string[] =>
  unenforced(
    objects.filter(({ kind }) => kind === 'AuthorizationPolicy'),
    objects,
  )
    .filter(({ is, object }) => is === 'pending' && namespaces.has(object.metadata.namespace ?? ''))
    .map(describeWait)
