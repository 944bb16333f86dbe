import type { KubernetesObject } from './process.ts'

/** A write, the Service that it is about as it is then, the policies that are there after it, and the beacons of the Service's application. */
export type Write = {
  readonly object: KubernetesObject
  readonly isGone: boolean
  readonly service: KubernetesObject | undefined
  readonly policies: readonly KubernetesObject[]
  readonly beacons: readonly string[]
  /** A person writes it. */
  readonly isByHand: boolean
  /** Some process has begun before a person wrote last, and may not have seen that. */
  readonly isOvertaken: boolean
  /** What a person deleted, emptied, took off or set otherwise is so yet. */
  readonly isUndone: boolean
  /** It puts right what a person deleted, emptied, took off or set otherwise. */
  readonly isMended: boolean
  /** A memory is as it was once, and what was told since is not told again yet. */
  readonly isOutdated: boolean
}

/** Tells if the moment of a write is left out of the monitors; each by its name. */
export type Exclusion = { readonly name: string; readonly isMet: (write: Write) => boolean }

/** What a person does, nobody can prevent; what follows from it is mended by the next step that looks there. */
const BY_HAND: readonly Exclusion[] = [
  { name: 'a person deletes an object, empties it, or changes a label of it', isMet: ({ isByHand }) => isByHand },
  { name: 'a process goes on by what it read before a person wrote', isMet: ({ isOvertaken }) => isOvertaken },
  {
    name: 'a step goes by what another application has remembered of an object that a person has changed since',
    isMet: ({ isUndone }) => isUndone,
  },
  {
    name: 'a memory that a person has restored counts as it was then, until what was told since is told again',
    isMet: ({ isOutdated }) => isOutdated,
  },
]

/**
 * Clients may be refused for a moment that they are let in before and after, as these need another order of writes than that of one step.
 * Whoever mends one deletes it here.
 */
export const REFUSED_FOR_A_MOMENT: readonly Exclusion[] = [
  ...BY_HAND,
  {
    name: 'a policy that a person deleted or emptied is there again',
    isMet: ({ isMended, object }) => isMended && object.kind === 'AuthorizationPolicy',
  },
]

/** Strangers may get in for a moment, in which what guards by one beacon is there and what guards by another one is not. */
export const OPEN_FOR_A_MOMENT: readonly Exclusion[] = BY_HAND

/**
 * Ids of relations that no history has at once. A worker of two coordinators is led to one waypoint by both: the coordinator that leaves the
 * mesh keeps the waypoint for it, and its beacon waits for that.
 */
export const NEVER_AT_ONCE: readonly (readonly number[])[] = [
  [5, 35],
  [15, 35],
]
