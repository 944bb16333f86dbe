import type { MeshPolicy } from './models.ts'
import type { PolicyTarget } from './target.ts'

/** A policy with its requester: `relation 7 (service-mesh) of shop/web`. */
export type RequestedPolicy = { readonly policy: MeshPolicy; readonly relation: string }

/** A target that is guarded even without grants; `principals` may always pass. */
export type Guard = {
  readonly target: PolicyTarget
  readonly relation: string
  readonly principals?: readonly string[]
}
