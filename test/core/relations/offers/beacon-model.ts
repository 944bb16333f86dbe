import type { Claim } from '../../../../src/core/state/relation.ts'
import { isSame, type Memory, type Objects, standsIn, when, writing } from './interleavings.ts'

/** A beacon that offers the labels of its waypoint, or none. */
export type Beacon = Memory & { readonly wish: boolean; readonly isOffered: boolean; readonly offer: number }

export const BEACON: Beacon = { version: 0, isWriting: false, wish: true, isOffered: true, offer: 0 }

/** Rules that can be switched off, so that each is seen to be needed. */
export type BeaconRule =
  | 'reread'
  | 'touch'
  /** What an offer rested on stays while it is claimed. */
  | 'awaited'
  /** Labels are offered once what they rest on stands. */
  | 'held'
  /** They are offered once no late write can remove that. */
  | 'fenced'

/** The object that its offer rests on, and the claim, as a field of the memory of a side. */
type Rests<S extends string, A> = {
  readonly basis: number
  readonly of: S
  readonly as: A
  readonly claim: Claim | undefined
  has(rule: BeaconRule): boolean
}

/** An offer that begins waits until what it rests on stands, and no late write can reach that. One that ends is withdrawn at once. */
export const planOfBeacon = <S extends string, A>(
  { wish, isOffered, offer, isWriting }: Beacon,
  objects: Objects,
  { basis, of, as, claim, has }: Rests<S, A>,
) => {
  const stands = standsIn(objects, basis)
  const isHeld = wish && ((has('held') && !stands) || (has('fenced') && isWriting))
  const isNews = wish !== isOffered && !isHeld
  const said = isNews ? { isOffered: wish, offer: offer + 1 } : { isOffered, offer }
  const isKept = stands && claim !== undefined && has('awaited')
  const writes = writing(objects, isWriting && has('touch'))(basis, wish || isKept)
  const saving = (isNow: boolean) => ({
    ...{ do: 'save' as const, name: said.isOffered ? 'offers labels' : 'offers nothing' },
    change: { ...said, isWriting: isNow },
  })
  if (writes.length === 0 && !isWriting) return when(isNews, saving(false))
  const again = { do: 'read' as const, name: 'reads the claim again', of, as }
  return [saving(true), ...when(has('reread') && isNews, again), ...writes, saving(false)]
}

/** Tells if what was read of a memory still holds. */
export const isStill = (memory: object, as: object): boolean =>
  Object.entries(as).every(([field, value]) => {
    const now: unknown = memory[field as keyof typeof memory]
    return now === value || (field.startsWith('claim') && isSame(now as Claim | undefined, value as Claim | undefined))
  })
