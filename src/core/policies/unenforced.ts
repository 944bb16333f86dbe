import type { Wait } from '../../platform/base/wait.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** The wait for a mesh that refuses an object, or has not taken it yet: it is written, and not enforced. */
export type Unenforced = Wait & {
  readonly object: KubernetesObject
  readonly is: 'refused' | 'pending'
}

/** A mesh takes an object within moments. */
const SETTLING_MILLISECONDS = 5_000

/** Tells if an object was written so little ago that the mesh may be about to take it. */
export const isSettling = ({ is, since }: Unenforced, now: Date): boolean =>
  is === 'pending' && since !== undefined && now.getTime() - Date.parse(since) < SETTLING_MILLISECONDS
