/** Something that is held back, or kept as it is, until somebody else acts. */
export type Wait = {
  /** The name of what is held back or kept: `relation 7 (service-mesh)`, `Gateway shop/shop-mesh-waypoint`. */
  readonly held: string
  /** Those that have to act: applications, `Istio`, `pods`, objects that do not exist yet. */
  readonly for: readonly string[]
  /** The time at which it began (RFC 3339), where that is known. */
  readonly since?: string
  /** A sentence for people: what is held back, for whom, and what ends it. */
  readonly message: string
}

/** Prints a wait as a sentence with its beginning. */
export const describeWait = ({ message, since }: Wait): string =>
  since === undefined ? message : `${message} (since ${since})`
