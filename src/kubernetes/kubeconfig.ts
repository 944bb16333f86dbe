import { existsSync } from 'node:fs'
import type * as https from 'node:https'
import { delimiter } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { Broken } from '../errors.ts'
import type { Endpoint } from './transport.ts'

/**
 * The API server of the current context of a kubeconfig: `files` as in $KUBECONFIG, one or more paths. Client certificates, tokens,
 * exec plugins and contexts are read by client-node, whose own transport opens a connection for each call and is not used.
 */
export const kubeconfigEndpoint = (files: string): Endpoint => {
  const config = load(files)
  const cluster = config.getCurrentCluster()
  if (!cluster)
    throw new Broken(
      `KUBECONFIG ${files} has no current context with a cluster: choose one with kubectl config use-context`,
    )
  if (cluster.proxyUrl)
    throw new Broken(`KUBECONFIG ${files}: cluster ${cluster.name} has a proxy-url, which is not supported`)
  return {
    server: cluster.server,
    credentials: async () => {
      const options: https.RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      const { ca, cert, key, servername, rejectUnauthorized, auth } = options
      const headers = { ...(options.headers as Record<string, string>) }
      if (auth) headers.authorization ??= `Basic ${Buffer.from(auth).toString('base64')}`
      return { ca, cert, key, servername, rejectUnauthorized, headers }
    },
  }
}

const load = (files: string): KubeConfig => {
  const merged = new KubeConfig()
  for (const file of files.split(delimiter).filter((path) => path !== '')) {
    if (!existsSync(file)) throw new Broken(`KUBECONFIG names ${file}, which does not exist`)
    const config = new KubeConfig()
    config.loadFromFile(file)
    merged.mergeConfig(config)
  }
  return merged
}
