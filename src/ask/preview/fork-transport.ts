import type { Fork } from '../../embedded/fork/fork.ts'
import type { Transport } from '../../platform/kubernetes/client.ts'

/** A side of a fork as a cluster whose API server is reached. */
export const forkTransport =
  (serve: Fork['before']): Transport =>
  ({ method, path, headers, body }) =>
    serve({ method, path, headers, ...(body !== undefined && { body }) })
