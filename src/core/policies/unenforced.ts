import type { Condition } from '../../platform/base/condition.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** An object that is written, and that the mesh has refused (`NotEnforced`), or has not accepted yet (`NotTaken`). */
export type Unenforced = { readonly live: KubernetesObject; readonly condition: Condition }

export const isPending = ({ condition: { reason } }: Unenforced): boolean => reason === 'NotTaken'

/** The time within which a mesh accepts an object. */
const SETTLING_MILLISECONDS = 5_000

/** Tells if an object was written so recently that the mesh may be about to accept it. */
export const isSettling = (one: Unenforced, now: Date): boolean =>
  isPending(one) &&
  one.condition.since !== undefined &&
  now.getTime() - Date.parse(one.condition.since) < SETTLING_MILLISECONDS
