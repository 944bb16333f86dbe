import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../platform/base/clock.ts'
import { ConfigurationError, Unavailable } from '../../platform/base/errors.ts'
import { createKubernetes, type Kubernetes } from '../../platform/kubernetes/client.ts'
import { findEndpoint } from '../../platform/kubernetes/endpoint.ts'
import { type ApiServerEndpoint, createTransport } from '../../platform/kubernetes/transport.ts'
import { Failure } from '../failure.ts'

/** The limit of all calls of one round. */
const ROUND_MILLISECONDS = 60_000

/** Names the API server: an address without credentials, such as that of `kubectl proxy`; else a context of kubectl, or the current one. */
export type Reach = { readonly api?: string | undefined; readonly context?: string | undefined }

/** Runs some work with a client of the API server, and closes its connections afterwards. Rejects with Failure if the API server cannot be reached. */
export const withCluster = async <T>(reach: Reach, work: (kubernetes: Kubernetes) => Promise<T>): Promise<T> => {
  try {
    const transport = createTransport(await endpointOf(reach))
    try {
      const deadline = systemClock.now() + ROUND_MILLISECONDS
      return await work(createKubernetes({ transport, clock: systemClock, deadline }))
    } finally {
      transport.close()
    }
  } catch (error) {
    if (error instanceof ConfigurationError || error instanceof Unavailable)
      throw new Failure(error.message, 1, { cause: error })
    throw error
  }
}

const endpointOf = async ({ api, context }: Reach): Promise<ApiServerEndpoint> => {
  if (api !== undefined) return { server: api, credentials: () => ({}) }
  const files = process.env.KUBECONFIG ?? [join(homedir(), '.kube/config')].find((path) => existsSync(path))
  const endpoint = context === undefined ? await findEndpoint(files) : await endpointIn(files, context)
  if (endpoint !== undefined) return endpoint
  throw new Failure('no cluster is named: set KUBECONFIG, or name an API server with --api (http://127.0.0.1:8001)')
}

const endpointIn = async (files: string | undefined, context: string): Promise<ApiServerEndpoint | undefined> => {
  if (files === undefined) return undefined
  const { kubeconfigEndpoint } = await import('../../platform/kubernetes/kubeconfig.ts')
  return kubeconfigEndpoint(files, context)
}
