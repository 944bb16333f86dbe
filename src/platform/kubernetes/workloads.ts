import type { Subject } from '../base/subject.ts'
import { isForbidden } from './api-error.ts'
import type { Kubernetes } from './client.ts'

/** Tells if a workload of the application's name exists. An unreadable one counts as existing. */
export const hasWorkload = async (
  kubernetes: Kubernetes,
  { namespace, application: name }: Subject,
): Promise<boolean> => {
  const found = await Promise.all(
    (['StatefulSet', 'Deployment'] as const).map((kind) =>
      kubernetes.find({ kind, namespace, name }).catch((error: unknown) => {
        if (isForbidden(error)) return MAY_EXIST
        throw error
      }),
    ),
  )
  return found.some((object) => object !== undefined)
}

const MAY_EXIST = 'may exist'
