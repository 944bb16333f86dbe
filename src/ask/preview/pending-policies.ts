import { isPending } from '../../core/policies/unenforced.ts'
import { unenforced } from '../../mesh/istio/acceptance.ts'
import { describeCondition } from '../../platform/base/condition.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** Names the policies of these namespaces that Istio has not taken. The comparison treats them as enforced. */
export const pendingMessages = (objects: readonly KubernetesObject[], namespaces: ReadonlySet<string>): string[] =>
  unenforced(
    objects.filter(({ kind }) => kind === 'AuthorizationPolicy'),
    objects,
  )
    .filter((one) => isPending(one) && namespaces.has(one.live.metadata.namespace ?? ''))
    .map(({ condition }) => describeCondition(condition))
