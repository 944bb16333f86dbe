/** An object or action that is held back, or kept as it is, until others act. */
export type Wait = {
  /** The name of the object that waits: `relation 7 (service-mesh)`, `Gateway shop/shop-mesh-waypoint`. */
  readonly held: string
  /** Those that must act: applications, `Istio`, `pods`, or missing objects. */
  readonly for: readonly string[]
  /** The start of the wait (RFC 3339), if known. */
  readonly since?: string
  /** A sentence for people. It names the object that waits, for whom, and the end of the wait. */
  readonly message: string
}

/** Prints a wait as a sentence with its start. */
export const describeWait = ({ message, since }: Wait): string =>
  since === undefined ? message : `${message} (since ${since})`
