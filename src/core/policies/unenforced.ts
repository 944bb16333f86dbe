import type { Wait } from '../../platform/base/wait.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** The wait for a mesh that has refused an object, or has not accepted it yet. The object is written, but not enforced. */
export type Unenforced = Wait & {
  readonly object: KubernetesObject
  readonly is: 'refused' | 'pending'
}

/** The time within which a mesh accepts an object. */
const SETTLING_MILLISECONDS = 5_000

/** Tells if an object was written so recently that the mesh may be about to accept it. */
export const isSettling = ({ is, since }: Unenforced, now: Date): boolean =>
  is === 'pending' && since !== undefined && now.getTime() - Date.parse(since) < SETTLING_MILLISECONDS
