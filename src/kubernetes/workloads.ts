import type { Subject } from '../base/subject.ts'
import type { Kubernetes } from './client.ts'

/** Tells if a workload of the application's name exists. */
export const hasWorkload = async (
  kubernetes: Kubernetes,
  { namespace, application: name }: Subject,
): Promise<boolean> => {
  const found = await Promise.all(
    (['StatefulSet', 'Deployment'] as const).map((kind) => kubernetes.find({ kind, namespace, name })),
  )
  return found.some((object) => object !== undefined)
}
