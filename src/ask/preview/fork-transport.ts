import type { Fork } from '../../embedded/fork/fork.ts'
import type { Transport } from '../../platform/kubernetes/client.ts'

/** Connects to a side of a fork as if it were an API server. */
export const forkTransport =
  (serve: Fork['before']): Transport =>
  ({ method, path, headers, body }) =>
    serve({ method, path, headers, ...(body !== undefined && { body }) })
