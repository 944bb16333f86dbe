import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export type Query = {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly form: URLSearchParams
}

/** A server in place of Prometheus for one test. It keeps what it was asked. */
export const startFakePrometheus = async (
  answer: (response: ServerResponse, query: Query) => void,
): Promise<{ url: string; queries: Query[] }> => {
  const queries: Query[] = []
  const server = createServer(async (request, response) => {
    const { method, url: path, headers } = request
    const query = { method, path, headers, form: new URLSearchParams(await text(request)) }
    queries.push(query)
    answer(response, query)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, queries }
}

type Sample = readonly [Readonly<Record<string, string>>, number]

/** The answer of Prometheus with these series. */
export const vectorOf = (samples: readonly Sample[]): string =>
  JSON.stringify({
    status: 'success',
    data: { resultType: 'vector', result: samples.map(([metric, value]) => ({ metric, value: [1, `${value}`] })) },
  })
