import pMap from 'p-map'
import { systemClock as clock } from '../../src/base/clock.ts'
import { createEmbeddedApi } from '../../src/embedded/api.ts'
import { createKubernetes, type TransportAnswer, type TransportRequest } from '../../src/kubernetes/client.ts'
import { kubeconfigEndpoint } from '../../src/kubernetes/kubeconfig.ts'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import { createTransport } from '../../src/kubernetes/transport.ts'

/** An API server that answers the calls of the programs that are measured. */
export type Backend = {
  handle(request: Omit<TransportRequest, 'timeoutMilliseconds'>): TransportAnswer | Promise<TransportAnswer>
  /** Makes objects that nobody who is measured has made. */
  seed(objects: readonly KubernetesObject[]): void | Promise<void>
  close(): void | Promise<void>
}

const MANAGER = 'juju'
const TIMEOUT_MILLISECONDS = 60_000

const embedded = (): Backend => {
  const api = createEmbeddedApi()
  return {
    handle: (request) => api.handle(request),
    seed: (objects) => api.seed(objects, { manager: MANAGER }),
    close: () => undefined,
  }
}

/** Headers that belong to a connection, or to whom it is with. */
const OF_CONNECTION = ['authorization', 'host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding']

const passedOn = <T>(headers: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.includes(name)))

/** The cluster of a kubeconfig, in namespaces that must not be there before, and go with it. */
const cluster = (kubeconfig: string): Backend => {
  const transport = createTransport(kubeconfigEndpoint(kubeconfig))
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  const namespaces = new Set<string>()

  const call = async (method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/json' }
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await transport({ method, path, headers, body: text, timeoutMilliseconds: TIMEOUT_MILLISECONDS })
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.body}`)
  }
  const makeNamespace = async (name: string): Promise<void> => {
    if (namespaces.has(name)) return
    await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    namespaces.add(name)
  }

  return {
    handle: async ({ headers, ...request }) => {
      const timeoutMilliseconds = TIMEOUT_MILLISECONDS
      const answer = await transport({ ...request, headers: passedOn(headers), timeoutMilliseconds })
      return { ...answer, headers: passedOn(answer.headers) }
    },
    seed: async (objects) => {
      for (const { metadata } of objects) await makeNamespace(metadata.namespace ?? 'default')
      await pMap(objects, (object) => kubernetes.create(object, MANAGER), { concurrency: 16 })
    },
    close: async () => {
      for (const name of namespaces) await call('DELETE', `/api/v1/namespaces/${name}`)
      transport.close()
    },
  }
}

/** The embedded API server, unless a kubeconfig names another one. */
export const createBackend = (kubeconfig: string | undefined): Backend =>
  kubeconfig === undefined ? embedded() : cluster(kubeconfig)
