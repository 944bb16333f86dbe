import { existsSync } from 'node:fs'
import type * as https from 'node:https'
import { delimiter } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { ConfigurationError } from '../base/errors.ts'
import type { ApiServerEndpoint } from './transport.ts'

/**
 * Finds the API server of a kubeconfig's context, the current one by default. `files` is one or more paths, as in $KUBECONFIG. client-node reads client certificates, tokens,
 * exec plugins and contexts. Its own transport opens a connection for each call, and is not used.
 */
export const kubeconfigEndpoint = (files: string, context?: string): ApiServerEndpoint => {
  const config = load(files)
  if (context !== undefined) config.setCurrentContext(context)
  const cluster = config.getCurrentCluster()
  if (!cluster)
    throw new ConfigurationError(
      context === undefined
        ? `KUBECONFIG ${files} has no current context with a cluster: choose one with kubectl config use-context`
        : `KUBECONFIG ${files} has no context ${context} with a cluster: kubectl config get-contexts lists them`,
    )
  if (cluster.proxyUrl)
    throw new ConfigurationError(`KUBECONFIG ${files}: cluster ${cluster.name} has a proxy-url, which is not supported`)
  // client-node refuses a server without TLS, such as kubectl proxy, unless verification is off
  if (cluster.server.startsWith('http:')) Object.assign(cluster, { skipTLSVerify: true })
  return {
    server: cluster.server,
    credentials: async () => {
      const options: https.RequestOptions = {}
      await config.applyToHTTPSOptions(options).catch((error: Error) => {
        throw new ConfigurationError(`KUBECONFIG ${files}: no credentials: ${error.message}`, { cause: error })
      })
      const { ca, cert, key, servername, rejectUnauthorized, auth } = options
      const headers = { ...(options.headers as Record<string, string>) }
      if (auth) headers.authorization ??= `Basic ${Buffer.from(auth).toString('base64')}`
      return { ca, cert, key, servername, rejectUnauthorized, headers }
    },
  }
}

/** Returns the namespace of a context, the current one by default. Undefined if it names none. */
export const contextNamespace = (files: string, context?: string): string | undefined => {
  const config = load(files)
  return config.getContextObject(context ?? config.currentContext)?.namespace
}

/** Describes the cluster of a kubeconfig's current context, for a person who must agree. */
export const describeCluster = (files: string): string => {
  const config = load(files)
  const { name, server } = config.getCurrentCluster() ?? {}
  return `the cluster ${name} at ${server}, context ${config.currentContext} of ${files}`
}

/** Merges as kubectl does: the first file with an entry wins. */
const load = (files: string): KubeConfig => {
  const merged = new KubeConfig()
  for (const file of files.split(delimiter).filter((path) => path !== '')) {
    const { currentContext, clusters, users, contexts } = read(file)
    merged.currentContext ||= currentContext
    merged.clusters = withNew(merged.clusters, clusters)
    merged.users = withNew(merged.users, users)
    merged.contexts = withNew(merged.contexts, contexts)
  }
  return merged
}

const withNew = <T extends { name: string }>(known: readonly T[] = [], more: readonly T[] = []): T[] => [
  ...known,
  ...more.filter(({ name }) => known.every((one) => one.name !== name)),
]

const read = (file: string): KubeConfig => {
  if (!existsSync(file)) throw new ConfigurationError(`KUBECONFIG names ${file}, which does not exist`)
  const config = new KubeConfig()
  try {
    config.loadFromFile(file)
  } catch (error) {
    throw new ConfigurationError(`KUBECONFIG names ${file}, which cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  return config
}
