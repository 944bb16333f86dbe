import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/**
 * A receiver of OTLP over HTTP in protobuf, as far as the tests ask: field numbers of the .proto files of
 * https://github.com/open-telemetry/opentelemetry-proto
 */

type Shape = { readonly [number: number]: readonly [name: string, type: Type, isMany?: 'many'] }
type Type = 'text' | 'hex' | 'varint' | 'fixed64' | 'double' | Shape

const ANY: Shape = { 1: ['text', 'text'], 2: ['bool', 'varint'], 3: ['int', 'varint'], 4: ['double', 'double'] }
const PAIR: Shape = { 1: ['key', 'text'], 2: ['value', ANY] }
const RESOURCE: Shape = { 1: ['attributes', PAIR, 'many'] }
const SPAN: Shape = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'varint'],
  9: ['attributes', PAIR, 'many'],
  15: ['status', { 2: ['message', 'text'], 3: ['code', 'varint'] }],
}
const TRACES: Shape = {
  1: ['resources', { 1: ['resource', RESOURCE], 2: ['scopes', { 2: ['spans', SPAN, 'many'] }, 'many'] }, 'many'],
}
const POINT: Shape = { 7: ['attributes', PAIR, 'many'], 6: ['value', 'fixed64'], 4: ['value', 'double'] }
const BUCKETS: Shape = { 9: ['attributes', PAIR, 'many'], 4: ['count', 'fixed64'] }
const METRIC: Shape = {
  1: ['name', 'text'],
  3: ['unit', 'text'],
  7: ['sum', { 1: ['points', POINT, 'many'] }],
  9: ['histogram', { 1: ['points', BUCKETS, 'many'] }],
}
const METRICS: Shape = {
  1: ['resources', { 1: ['resource', RESOURCE], 2: ['scopes', { 2: ['metrics', METRIC, 'many'] }, 'many'] }, 'many'],
}

type Message = Record<string, unknown>

const decode = (shape: Shape, bytes: Buffer): Message => {
  const message: Message = {}
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes.readUInt8(at++)
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  const raw = (wireType: number): number | Buffer => {
    if (wireType === 0) return varint()
    const length = wireType === 1 ? 8 : wireType === 5 ? 4 : varint()
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = varint()
    const value = raw(tag & 7)
    const field = shape[Math.floor(tag / 8)]
    if (!field) continue
    const [name, type, isMany] = field
    const read = fieldValue(type, value)
    message[name] = isMany ? [...((message[name] as unknown[] | undefined) ?? []), read] : read
  }
  return message
}

const fieldValue = (type: Type, value: number | Buffer): unknown => {
  if (typeof value === 'number') return value
  if (type === 'text') return value.toString()
  if (type === 'hex') return value.toString('hex')
  if (type === 'double') return value.readDoubleLE()
  if (type === 'fixed64') return Number(value.readBigUInt64LE())
  return type === 'varint' ? undefined : decode(type, value)
}

type Pairs = readonly { key: string; value: Message }[] | undefined

const attributesIn = (pairs: Pairs): Record<string, unknown> =>
  Object.fromEntries((pairs ?? []).map(({ key, value }) => [key, Object.values(value)[0]]))

export type SentSpan = {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly kind: number
  readonly status?: { readonly code?: number; readonly message?: string }
  readonly attributes: Record<string, unknown>
}

/** The latest of a series: the number of measurements of a histogram, or the value of a counter. */
export type SentPoint = { readonly name: string; readonly value: number; readonly attributes: Record<string, unknown> }

type Resources = readonly { resource?: { attributes: Pairs }; scopes: readonly Record<string, Message[]>[] }[]

export type Receiver = {
  readonly url: string
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer }[]
  /** The requests that were never answered. */
  open(): number
  spans(): SentSpan[]
  /** The points of the last export of metrics. */
  points(): SentPoint[]
  resources(): Record<string, unknown>[]
}

export const startReceiver = async (
  answer: (response: ServerResponse) => void = (response) => void response.end(),
): Promise<Receiver> => {
  const requests: Receiver['requests'] = []
  let open = 0
  const server = createServer(async (request, response) => {
    open += 1
    response.once('finish', () => {
      open -= 1
    })
    requests.push({ path: request.url ?? '', headers: request.headers, body: await buffer(request) })
    answer(response)
  })
  server.listen(0)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const sent = (path: string, shape: Shape) =>
    requests
      .filter((request) => request.path === path)
      .map(({ body }) => (decode(shape, body).resources ?? []) as Resources)
  const inScopes = (resources: Resources, name: string) =>
    resources.flatMap(({ scopes }) => scopes.flatMap((scope) => scope[name] ?? []))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    open: () => open,
    spans: () =>
      sent('/v1/traces', TRACES)
        .flatMap((resources) => inScopes(resources, 'spans'))
        .map((span) => ({ ...span, attributes: attributesIn(span.attributes as Pairs) }) as SentSpan),
    points: () =>
      inScopes(sent('/v1/metrics', METRICS).at(-1) ?? [], 'metrics').flatMap(({ name, sum, histogram }) => {
        const { points = [] } = (sum ?? histogram) as { points?: Message[] }
        return points.map(({ value, count, attributes }) => ({
          name: String(name),
          value: Number(value ?? count),
          attributes: attributesIn(attributes as Pairs),
        }))
      }),
    resources: () =>
      [...sent('/v1/traces', TRACES), ...sent('/v1/metrics', METRICS)].flatMap((resources) =>
        resources.map(({ resource }) => attributesIn(resource?.attributes)),
      ),
  }
}
