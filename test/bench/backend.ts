import { createServer } from 'node:https'
import type { Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { connect, createServer as createRelay } from 'node:tls'
import pMap from 'p-map'
import { createEmbeddedApi } from '../../src/embedded/api/api.ts'
import { systemClock as clock } from '../../src/platform/base/clock.ts'
import { createKubernetes, type TransportRequest } from '../../src/platform/kubernetes/client.ts'
import { kubeconfigEndpoint } from '../../src/platform/kubernetes/kubeconfig.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createTransport } from '../../src/platform/kubernetes/transport.ts'

/** Is told of each call when it begins, and of the characters or bytes of each part of an answer. */
export type Counter = { call(method: string, path: string): void; answer(size: number): void }

/** An API server for the programs that are measured. */
export type Backend = {
  /** Makes the server, with a certificate of its own, that they call. */
  serve(tls: { readonly cert: string; readonly key: string }, counter: Counter): Server
  /** Returns the token that they are to send. */
  token(): string | Promise<string>
  /** Makes objects that nobody who is measured has made. */
  seed(objects: readonly KubernetesObject[]): void | Promise<void>
  close(): void | Promise<void>
}

const MANAGER = 'juju'
const TIMEOUT_MILLISECONDS = 60_000

const embedded = (): Backend => {
  const api = createEmbeddedApi()
  return {
    serve: (tls, counter) =>
      createServer(tls, async (request, response) => {
        const { url: path = '/' } = request
        const method = request.method as TransportRequest['method']
        counter.call(method, path)
        const body = (await buffer(request)).toString()
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        )
        const answer = api.handle({ method, path, headers, ...(body !== '' && { body }) })
        counter.answer(answer.body.length)
        response.writeHead(answer.status, answer.headers).end(answer.body)
      }),
    token: () => 'token',
    seed: (objects) => api.seed(objects, { manager: MANAGER }),
    close: () => undefined,
  }
}

const REQUEST = /^(GET|POST|PUT|PATCH|DELETE) (\S+) HTTP\/1\.1\r\n/
const END_OF_HEAD = '\r\n\r\n'

/** The length of a part of an answer without its head, which comes in one part. */
const bodyLength = (part: Buffer): number =>
  part.length - (part.toString('latin1', 0, 7) === 'HTTP/1.' ? part.indexOf(END_OF_HEAD) + END_OF_HEAD.length : 0)

/** The cluster of a kubeconfig, in namespaces that must not be there before, and go with it. */
const cluster = (kubeconfig: string): Backend => {
  const endpoint = kubeconfigEndpoint(kubeconfig)
  const { protocol, hostname: host, port, pathname } = new URL(endpoint.server)
  if (protocol !== 'https:' || pathname !== '/')
    throw new Error(`${endpoint.server}: the benchmark measures an API server that is asked over TLS, without a path`)
  const transport = createTransport(endpoint)
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
    // what passes is looked at, and not made anew: a call is to take no longer than it does without
    serve: (tls, counter) =>
      createRelay(tls, async (client) => {
        const { headers: _, ...credentials } = await endpoint.credentials()
        const server = connect({ host, port: Number(port || 443), ...credentials })
        for (const one of [client, server]) one.setNoDelay()
        client.on('data', (part) => {
          const [, method, path] = REQUEST.exec(part.toString('latin1', 0, 1_000)) ?? []
          if (method !== undefined && path !== undefined) counter.call(method, path)
          server.write(part)
        })
        server.on('data', (part) => {
          counter.answer(bodyLength(part))
          client.write(part)
        })
        for (const [one, other] of [
          [client, server],
          [server, client],
        ] as const)
          one.on('error', () => other.destroy()).on('close', () => other.destroy())
      }),
    token: async () => {
      const { headers = {} } = await endpoint.credentials()
      const [, token] = /^Bearer (.+)$/.exec(new Headers(headers).get('authorization') ?? '') ?? []
      // a client certificate is enough
      return token ?? 'token'
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
