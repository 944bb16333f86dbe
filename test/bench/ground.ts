import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import type { Ask, Counts } from './api.ts'
import { createPeers, type Peers } from './peers.ts'
import type { Quota } from './quota.ts'

const run = promisify(execFile)

export const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** A program that is measured: what Node, or another command, runs, with which arguments of its own and which environment. */
export type Program = {
  readonly name: string
  readonly command?: string
  readonly entry: string
  readonly flags?: readonly string[]
  readonly environment?: Record<string, string>
  /** Of which application it takes events, when its memory is not one that meshstep reads. */
  readonly application?: string
}

/** An API server over TLS in a process of its own, and the programs that use it as a pod does. */
export type Ground = {
  readonly peers: Peers
  /** Every bundle of meshstep that is compared. */
  readonly bundles: readonly Program[]
  /** The same, each from a start-up snapshot. */
  readonly snapshots: readonly Program[]
  readonly environment: Record<string, string>
  readonly sink: string
  seed(objects: readonly KubernetesObject[]): Promise<void>
  counts(): Promise<Counts>
  close(): Promise<void>
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const CONFIGMAPS = '/api/v1/namespaces/{namespace}/configmaps'

/** What a redelivered event of an application reads, in two round trips. */
const READS = [
  [
    `${CONFIGMAPS}/juju-service-mesh-{application}-labels`,
    '/apis/apps/v1/namespaces/{namespace}/statefulsets/{application}',
    '/api/v1/namespaces/{namespace}/services/{application}',
  ],
  [`${CONFIGMAPS}/juju-service-mesh-beacon-labels`],
]

const makeCertificate = async (directory: string): Promise<{ cert: string; key: string }> => {
  const [certFile, keyFile] = [join(directory, 'ca.crt'), join(directory, 'tls.key')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  const names = ['-subj', '/CN=bench', '-addext', 'subjectAltName=IP:127.0.0.1']
  await run('openssl', ['req', ...kind, ...names, '-keyout', keyFile, '-out', certFile])
  return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') }
}

/** The environment of the image, as far as it changes what is measured; its bounds are for a pod of 256 MiB. */
const IMAGE = { MALLOC_ARENA_MAX: '2' }

/** The bundle as it is in the image, but for the folder of its credentials, which only root may make. */
const placed = async (directory: string, name: string, bundle: string, credentials: string): Promise<Program> => {
  const folder = join(directory, name)
  await mkdir(folder)
  const source = await readFile(bundle, 'utf8')
  if (!source.includes(SERVICE_ACCOUNT)) throw new Error(`${bundle} reads no credentials from ${SERVICE_ACCOUNT}`)
  const entry = join(folder, basename(bundle))
  await writeFile(entry, source.replaceAll(SERVICE_ACCOUNT, credentials))
  return { name, entry, environment: { ...IMAGE, NODE_COMPILE_CACHE: join(folder, 'cache') } }
}

/** The same from a start-up snapshot. */
const snapped = async ({ name, entry }: Program): Promise<Program> => {
  const blob = `${entry}.blob`
  await run(process.execPath, ['--snapshot-blob', blob, '--build-snapshot', entry])
  return { name: `${name}, from a snapshot`, entry, flags: ['--snapshot-blob', blob], environment: IMAGE }
}

/** Asks a forked process, and waits for its answer: it answers in turn. */
const asking = (child: ChildProcess) => {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(ask: Ask): Promise<T> => {
    const answered = last.then(async () => {
      const answer = once(child, 'message')
      child.send(ask)
      return (await answer)[0] as T
    })
    last = answered
    return answered
  }
}

/** `others` are bundles of other versions, by name, to compare with; `python` may have the charm library. */
export const createGround = async (others: Readonly<Record<string, string>>, python: string): Promise<Ground> => {
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-bench-'))
  const credentials = join(directory, SERVICE_ACCOUNT)
  await mkdir(credentials, { recursive: true })
  const { cert, key } = await makeCertificate(credentials)
  await writeFile(join(credentials, 'namespace'), 'shop')
  const child = fork(here('api.ts'), { env: { ...process.env, CERT: cert, KEY: key } })
  child.once('exit', (code) => code === 0 || process.exit(1))
  const [{ port, sink, token }] = (await once(child, 'message')) as [{ port: number; sink: number; token: string }]
  await writeFile(join(credentials, 'token'), token)
  const ask = asking(child)
  const all = Object.entries({ meshstep: here('../../dist/server.cjs'), ...others })
  const bundles = await Promise.all(all.map(([name, bundle]) => placed(directory, name, bundle, credentials)))
  return {
    peers: await createPeers(directory, python),
    bundles,
    snapshots: await Promise.all(bundles.map(snapped)),
    environment: {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String(port),
      ROOT: directory,
      READS: JSON.stringify(READS),
      NODE_ENV: 'production',
    },
    sink: `http://127.0.0.1:${sink}`,
    seed: async (seed) => void (await ask({ seed })),
    counts: () => ask<Counts>({ counts: 'take' }),
    close: async () => {
      child.disconnect()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A program that runs. Its answers are of one connection at a time, unless more are asked at once. */
export type Running = {
  readonly port: number
  /** What it writes from now on. */
  readonly output: Readable
  post(event: Sent): Promise<{ status: number; body: string }>
  get(path: string): Promise<number>
  /** CPU of all its threads so far, in milliseconds. */
  cpu(): Promise<number>
  /** Resident memory in MB. */
  rss(): Promise<number>
  descriptors(): Promise<{ readonly all: number; readonly sockets: number }>
  signal(signal: NodeJS.Signals): void
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** An event of ours as a broker hands it over. */
export type Sent = { readonly type: string; readonly id?: string; readonly data: Record<string, unknown> }

let serial = 0

const headersOf = ({ type, id = `event-${++serial}` }: Sent) => ({
  'content-type': 'application/json',
  'ce-specversion': '1.0',
  'ce-id': id,
  'ce-source': '/bench',
  'ce-type': `dev.meshstep.${type}.v1`,
})

/** Sent over node:http, so that a slow fetch here is not measured there. */
const ask = (
  options: { port: number; agent: Agent; path: string; method: string; headers?: Record<string, string> },
  body?: string,
): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', ...options }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject)
    })
      .on('error', reject)
      .end(body)
  })

const PORT = /"port":(\d+)/

/** Starts a program, and waits until it listens. */
export const start = async (
  { environment: shared }: Pick<Ground, 'environment'>,
  { command = process.execPath, entry, flags = [], environment }: Program,
  more: Record<string, string> = {},
  quota?: Quota,
): Promise<Running> => {
  const env = { PORT: '0', ...shared, ...environment, ...more }
  const [program = command, ...rest] = [...(quota?.enter ?? []), command, ...flags, entry]
  const child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const agent = new Agent({ keepAlive: true, maxSockets: 2_000 })
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      const [, found] = PORT.exec(String(chunk)) ?? []
      if (found !== undefined) resolve(Number(found))
    })
    ended.then(() => reject(new Error(`${entry} ended before it listened`)))
  })
  const proc = `/proc/${child.pid}`
  return {
    port,
    output: child.stdout,
    post: ({ data, ...event }) =>
      ask({ port, agent, path: '/', method: 'POST', headers: headersOf({ ...event, data }) }, JSON.stringify(data)),
    get: async (path) => (await ask({ port, agent, path, method: 'GET' })).status,
    cpu: async () => {
      const tasks = await readdir(`${proc}/task`)
      const times = await Promise.all(
        tasks.map((task) => readFile(`${proc}/task/${task}/schedstat`, 'utf8').catch(() => '0')),
      )
      return times.reduce((sum, time) => sum + Number(time.split(' ')[0]) / 1e6, 0)
    },
    rss: async () => {
      const status = await readFile(`${proc}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
    },
    descriptors: async () => {
      const all = await readdir(`${proc}/fd`)
      // one may be closed in between
      const targets = await Promise.all(all.map((one) => readlink(`${proc}/fd/${one}`).catch(() => '')))
      return { all: all.length, sockets: targets.filter((target) => target.startsWith('socket:')).length }
    },
    signal: (signal) => void child.kill(signal),
    stop: async (signal = 'SIGKILL') => {
      agent.destroy()
      process.off('exit', kill)
      child.kill(signal)
      await ended
    },
  }
}
