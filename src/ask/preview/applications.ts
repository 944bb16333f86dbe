import { subjectName } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { Side } from '../authorization/side.ts'

/** The applications among objects: a workload of a namespace, or a Service that is named like none. */
export const applicationsIn = (objects: readonly KubernetesObject[]): Side[] => {
  const found = objects.flatMap(({ kind, metadata: { namespace, name, ownerReferences = [] } }) =>
    ['StatefulSet', 'Deployment', 'Service'].includes(kind) &&
    namespace !== undefined &&
    !(ownerReferences as { kind: string }[]).some((owner) => owner.kind === 'Gateway')
      ? [{ kind: 'application' as const, namespace, application: name }]
      : [],
  )
  return [...new Map(found.map((one) => [subjectName(one), one])).values()]
}
