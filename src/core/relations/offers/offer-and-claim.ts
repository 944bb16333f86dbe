import type { Claim, Requirer } from '../../state/relation.ts'

// Of the five rules in docs/design.md, the stages of a step keep 1 and 3, with published-version.ts and held-offers.ts, and 2 with claims.ts. 4 is in
// lost-memory.ts, and 5 is `unknown` here; a requirer that cannot be read may carry labels (peer-view.ts).

/**
 * The view that a requirer has of the offer of its provider: its version, `nothing` where none is due (it is withdrawn, or the relation is over), or
 * `unknown` where its memory cannot be read.
 */
export type Sees = { readonly offer: string } | 'nothing' | 'unknown'

/** The claim to be saved before the first write of a step. Then the offer is read again; if it has moved, the step starts over. */
export const claimBefore = (claim: Claim | undefined, sees: Sees): Claim | undefined => {
  if (sees === 'unknown') return claim
  if (sees === 'nothing') return claim && { ...claim, phase: 'leaving' }
  return isApplied(claim, sees.offer) ? claim : { version: sees.offer, phase: 'claiming' }
}

/** The end of the writes of a step: `isDone` if all policies and labels of the offer stand, `mayRemain` if some of a withdrawn one may be left. */
export type Ending = { readonly isDone: boolean; readonly mayRemain: boolean }

/** The claim after the writes of a step. */
export const claimAfter = (claim: Claim | undefined, sees: Sees, { isDone, mayRemain }: Ending): Claim | undefined => {
  if (sees === 'unknown') return claim
  if (sees === 'nothing') return mayRemain ? claimBefore(claim, sees) : undefined
  return isDone ? { version: sees.offer, phase: 'applied' } : claim
}

/** Tells if what an earlier offer rested on may go, or what denies all others may come: the claim is applied at the present version. */
export const isApplied = (claim: Claim | undefined, version: string): boolean =>
  claim?.phase === 'applied' && claim.version === version

/** Returns how far a requirer that guards itself has taken the present version of an offer. */
export const progressOf = (claim: Claim | undefined, version: string): Requirer => {
  if (isApplied(claim, version)) return 'applied'
  return claim?.phase === 'claiming' ? 'claiming' : 'lagging'
}
