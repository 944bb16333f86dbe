import { createServer as createSinkServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createBackend } from './backend.ts'

/** What the process that measures asks of this one, which is the API server and the sink of what it measures. */
export type Ask = { readonly seed?: readonly KubernetesObject[] } | { readonly counts: 'take' }

/** The calls since the last time, those of them that write, and the bytes of all answers. */
export type Counts = { calls: number; writes: number; memories: number; bytes: number }

const NOTHING: Counts = { calls: 0, writes: 0, memories: 0, bytes: 0 }

const [cert = '', key = ''] = [process.env.CERT, process.env.KEY]
const backend = createBackend(process.env.KUBECONFIG)
let counts = { ...NOTHING }

const server = backend.serve(
  { cert, key },
  {
    call: (method, path) => {
      const isWrite = method !== 'GET'
      counts.calls += 1
      counts.writes += isWrite ? 1 : 0
      counts.memories += isWrite && path.includes('/configmaps') ? 1 : 0
    },
    answer: (size) => {
      counts.bytes += size
    },
  },
)
const sink = createSinkServer(
  (request, response) => void request.resume().on('end', () => response.writeHead(202).end()),
)

const listening = (one: typeof server | typeof sink) =>
  new Promise<number>((resolve) => one.listen(0, '127.0.0.1', () => resolve((one.address() as AddressInfo).port)))

process.on('message', async (ask: Ask) => {
  if ('counts' in ask) {
    process.send?.(counts)
    counts = { ...NOTHING }
    return
  }
  await backend.seed(ask.seed ?? [])
  process.send?.({})
})
process.on('disconnect', async () => {
  await backend.close()
  process.exit(0)
})
process.send?.({ port: await listening(server), sink: await listening(sink), token: await backend.token() })
