import { subjectName } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { Side } from '../authorization/side.ts'

/** Lists the applications among objects, one for each name of a workload or a Service. Objects that a Gateway owns do not count. */
export const applicationsIn = (objects: readonly KubernetesObject[]): Side[] => {
  const found = objects.flatMap(({ kind, metadata: { namespace, name, ownerReferences = [] } }) =>
    ['StatefulSet', 'Deployment', 'Service'].includes(kind) &&
    namespace !== undefined &&
    !ownerReferences.some((owner) => owner.kind === 'Gateway')
      ? [{ kind: 'application' as const, namespace, application: name }]
      : [],
  )
  return [...new Map(found.map((one) => [subjectName(one), one])).values()]
}
