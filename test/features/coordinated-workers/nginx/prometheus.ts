import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ScrapeJob } from '../../../../src/features/coordinated-workers/nginx/scrape-jobs.ts'
import { run, until } from '../../../process/helpers.ts'
import { freePorts } from './nginx.ts'

const directory = (): Promise<string> => mkdtemp(join(tmpdir(), 'meshstep-prometheus-'))

/** Why Prometheus would not take a file, of its configuration or of rules; undefined when it would. */
export const prometheusObjection = async (kind: 'config' | 'rules', content: object): Promise<string | undefined> => {
  const folder = await directory()
  const file = join(folder, 'file.yml')
  await writeFile(file, JSON.stringify(content))
  const objection = await run('promtool', ['check', kind, file]).then(
    () => undefined,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
  )
  await rm(folder, { recursive: true })
  return objection
}

/** A time series at one moment: its labels and its value. */
export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

export type Prometheus = {
  readonly url: string
  /** The newest samples of an expression. */
  query(expression: string): Promise<Sample[]>
  stop(): Promise<void>
}

type Options = { readonly jobs: readonly ScrapeJob[]; readonly ca?: string | undefined; readonly rules?: object }

/** What Prometheus is configured with: the jobs as they are, each through a proxy, as names of a cluster mean nothing here. */
export const configurationOf = ({
  jobs,
  proxy,
  caFile,
}: {
  jobs: Options['jobs']
  proxy: string
  caFile?: string
}) => ({
  global: { scrape_interval: '1s', scrape_timeout: '1s' },
  scrape_configs: jobs.map((job) => ({
    ...job,
    proxy_url: proxy,
    ...(caFile !== undefined && { tls_config: { ca_file: caFile } }),
  })),
})

/** Starts Prometheus with the jobs, and waits until it is ready. Every name is this machine. */
export const startPrometheus = async ({ jobs, ca }: Options): Promise<Prometheus> => {
  const folder = await directory()
  const proxy = await startForwardProxy()
  const port = await freePorts(1)
  if (ca !== undefined) await writeFile(join(folder, 'ca.crt'), ca)
  const configuration = configurationOf({
    jobs,
    proxy: proxy.url,
    ...(ca !== undefined && { caFile: join(folder, 'ca.crt') }),
  })
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(configuration))
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += String(chunk)
  })
  const ended = once(child, 'exit')
  const origin = `http://127.0.0.1:${port}`
  await until(`Prometheus is ready ${errors}`, () =>
    fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return {
    url: origin,
    query: async (expression) => {
      const response = await fetch(`${origin}/api/v1/query?query=${encodeURIComponent(expression)}`)
      const { data } = (await response.json()) as {
        data: { result: { metric: Record<string, string>; value: [number, string] }[] }
      }
      return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      await proxy.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A proxy for HTTP and, by CONNECT, for HTTPS, to which every name is this machine. */
const startForwardProxy = async (): Promise<{ url: string; stop(): Promise<void> }> => {
  const sockets = new Set<Socket>()
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    const { port, pathname, search } = new URL(incoming.url ?? '')
    const { method, headers } = incoming
    const outgoing = request(
      { host: '127.0.0.1', port: port || 80, path: `${pathname}${search}`, method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    outgoing.on('error', () => response.writeHead(502).end())
    incoming.pipe(outgoing)
  })
  server.on('connect', ({ url }, client: Socket) => {
    const backend = connect(Number(url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      backend.pipe(client).pipe(backend)
    })
    for (const [one, other] of [
      [client, backend],
      [backend, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
    sockets.add(backend)
  })
  server.on('connection', (socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
