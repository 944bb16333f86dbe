import type { Clock } from '../base/clock.ts'
import { ownValue } from '../base/own-value.ts'
import { describeWait } from '../base/wait.ts'
import type { Mesh } from '../feature/mesh.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { MANAGED_BY } from '../kubernetes/ownership-labels.ts'
import { withCauses } from '../reconcile/not-taken.ts'
import type { Found } from './finding.ts'
import { waitRule } from './waits.ts'

/** Policies of others that the mesh has not taken yet; those of applications are among their waits. */
export const unenforcedFindings = async (
  mesh: Mesh,
  kubernetes: Kubernetes,
  policies: readonly KubernetesObject[],
  clock: Pick<Clock, 'now'>,
): Promise<Found[]> => {
  const isOurs = ({ metadata }: KubernetesObject) => ownValue(metadata.labels, MANAGED_BY) === 'meshstep'
  const found = mesh.unenforced(policies).filter(({ is, object }) => is === 'pending' && !isOurs(object))
  const waits = await withCauses(mesh, kubernetes, found)
  return waits.map((wait) => ({ rule: waitRule(wait, clock), about: wait.held, message: describeWait(wait) }))
}
