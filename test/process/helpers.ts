import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import {
  type Answer,
  createEmbeddedApi,
  type EmbeddedApi,
  type EmbeddedApiOptions,
  type Request,
} from '../../src/embedded/api/api.ts'
import { startEmbeddedApi } from '../../src/embedded/api/server.ts'
import { type Event, writeEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { copyPage } from '../../tools/bundle/page.ts'
import { bundlePrograms } from '../../tools/bundle/programs.ts'
import { NAMESPACE, service, workload } from '../helpers/world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export const run = promisify(execFile)

/** Asks until the answer is neither undefined nor false, and fails with `what` after some seconds. */
export const until = async <T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  milliseconds = 10_000,
): Promise<T> => {
  for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(10)) {
    const answer = await ask()
    if (answer !== undefined && answer !== false) return answer
  }
  throw new Error(`Waited ${milliseconds} ms in vain: ${what}`)
}

/** A directory that is removed after the test. */
export const temporaryDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

export const BUNDLE = 'dist/server.cjs'

/** A process starts from a snapshot, as in the image; `START=plain` has all tests of processes run the bundle itself. */
const isFromSnapshotUsually = process.env.START !== 'plain'

/** The snapshot of the bundle, made once for all workers. */
export const SNAPSHOT = join(tmpdir(), `meshstep-${process.ppid}.blob`)

/** Makes something when it is missing; of several workers that miss it, one makes it and the others wait. */
const ensure = async (what: string, isMade: () => boolean, make: () => Promise<void>): Promise<void> => {
  const making = join(tmpdir(), `meshstep-${what}-${process.ppid}`)
  if (isMade() && !existsSync(making)) return
  const isFirst = await mkdir(making).then(
    () => true,
    () => false,
  )
  if (!isFirst) {
    await until(`the ${what} is made by another worker`, () => !existsSync(making), 50_000)
    return
  }
  try {
    await make()
  } finally {
    await rm(making, { recursive: true })
  }
}

/** Builds the bundle and the snapshot when they are missing. */
export const ensureBundle = (): Promise<void> => {
  const isBundled = () => existsSync(join(ROOT, BUNDLE)) && existsSync(join(ROOT, 'dist/kubeconfig.mjs'))
  return ensure(
    'build',
    () => isBundled() && existsSync(SNAPSHOT),
    async () => {
      if (!isBundled()) await run(process.execPath, ['build.ts'], { cwd: ROOT })
      await run(process.execPath, ['--snapshot-blob', SNAPSHOT, '--build-snapshot', BUNDLE], { cwd: ROOT })
    },
  )
}

/** The folder of the command and of `npm start`, bundled once for all workers as the package has its command: sources take five times as long to load. */
const PROGRAMS = join(tmpdir(), `meshstep-programs-${process.ppid}`)
export const COMMAND = join(PROGRAMS, 'meshstep.js')
export const LOCAL = join(PROGRAMS, 'local.js')

/** Where they keep what Node has compiled of them, as the package's command does. They start in half the time. */
export const COMPILED = { NODE_COMPILE_CACHE: join(PROGRAMS, 'compiled') }

export const ensurePrograms = (): Promise<void> =>
  ensure(
    'bundling',
    () => existsSync(COMMAND),
    async () => {
      await mkdir(PROGRAMS)
      await writeFile(join(PROGRAMS, 'package.json'), '{ "type": "module" }')
      await copyPage(PROGRAMS)
      await bundlePrograms(PROGRAMS, { local: 'src/local.ts', meshstep: 'src/cli/main.ts' })
    },
  )

/** A line of the log: level, time and msg, and the fields beside them. */
export type Line = { level: number; msg: string } & Record<string, unknown>

export type Started = {
  readonly child: ChildProcess
  readonly lines: readonly Line[]
  /** What was written to stderr so far. */
  errors(): string
  /** Waits for a line of the log. */
  logged(message: string): Promise<Line>
  /** Sends the signal, and answers with what the process ended with. */
  end(signal: NodeJS.Signals): Promise<Ended>
  ended: Promise<Ended>
}

/** The exit code, null when a signal ended it. */
export type Ended = { code: number | null; signal: NodeJS.Signals | null }

type Program = {
  entry?: string
  names?: readonly string[]
  environment?: Record<string, string>
  isFromSnapshot?: boolean
  /** What it writes is no log of JSON. */
  isText?: boolean
  /** A command that becomes its arguments, which start the process. */
  enter?: readonly string[]
  /** Has it ended later. @default after the test */
  later?: Later
}

export type Later = (end: () => void) => void

/** Starts a process with nothing of this one's environment; it is gone after the test. */
export const start = ({
  entry = BUNDLE,
  names = [],
  environment = {},
  isFromSnapshot = isFromSnapshotUsually && entry === BUNDLE,
  isText = false,
  enter = [],
  later = onTestFinished,
}: Program = {}): Started => {
  const flags = isFromSnapshot ? ['--snapshot-blob', SNAPSHOT] : []
  const options = { cwd: ROOT, env: { PORT: '0', ...environment } }
  const [program = process.execPath, ...given] = [...enter, process.execPath, ...flags, entry, ...names]
  const child = spawn(program, given, options)
  later(() => void child.kill('SIGKILL'))
  const lines: Line[] = []
  let rest = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = `${rest}${chunk}`.split('\n')
    rest = parts.pop() ?? ''
    if (!isText) lines.push(...parts.map((part) => JSON.parse(part) as Line))
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal }))
  return {
    child,
    lines,
    ended,
    errors: () => errors,
    logged: (message) =>
      until(`the log says ${message}`, () => {
        if (child.exitCode !== null) throw new Error(`The process ended before it said ${message}: ${errors}`)
        return lines.find(({ msg }) => msg === message)
      }),
    end: (signal) => {
      child.kill(signal)
      return ended
    },
  }
}

/** Starts a process that serves, and waits until it does. */
export const serve = async (program: Program): Promise<Started & { url: string; port: number }> => {
  const started = start(program)
  const message = program.names?.[0] === 'dead-letter' ? 'listening for dead letters' : 'listening'
  const port = Number((await started.logged(message)).port)
  const url = `http://127.0.0.1:${port}`
  // the line is written a moment before signals are listened to
  await (await fetch(`${url}/health/readiness`)).text()
  return { ...started, port, url }
}

/** `npm start`, with an API of its own. */
export const serveExample = async ({ environment = {}, ...others }: Omit<Program, 'entry'> = {}) => {
  await ensurePrograms()
  return await serve({ entry: LOCAL, environment: { EMBEDDED_PORT: '0', ...COMPILED, ...environment }, ...others })
}

/** Waits until all that has happened in the embedded cluster of a process was told to its functions: the source sends in order. */
export const settle = async ({ lines, logged }: Pick<Started, 'lines' | 'logged'>): Promise<void> => {
  const { url } = await logged('embedded Kubernetes API')
  const pods = `${url}/api/v1/namespaces/default/pods`
  const name = `latest-${lines.length}`
  const metadata = { name, labels: { 'app.kubernetes.io/name': name } }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'c', image: 'x:1' }] } }
  const headers = { 'content-type': 'application/json' }
  const created = await fetch(pods, { method: 'POST', headers, body: JSON.stringify(pod) })
  if (!created.ok) throw new Error(`The embedded cluster refused a pod: ${await created.text()}`)
  await until('the latest pod is told', () => lines.some(({ application }) => application === name))
  await fetch(`${pods}/${name}`, { method: 'DELETE' })
}

/** Sends an event as a broker does. */
export const post = (url: string, event: Event): Promise<Response> => {
  const { headers, body } = writeEvent(event)
  return fetch(url, { method: 'POST', headers, body })
}

type Intercept = (request: Request) => Answer | undefined | Promise<Answer | undefined>

export type Cluster = {
  readonly api: EmbeddedApi
  readonly url: string
  /** What a process needs to find the cluster. */
  readonly environment: Record<string, string>
  /** `PATCH /apis/…`, every call since the last `calls.length = 0`. */
  readonly calls: string[]
  /** Answers in place of the API server. */
  intercept: Intercept | undefined
  object(kind: string, name: string): KubernetesObject | undefined
  /** The labels on a StatefulSet's template and on the Service of the same name. */
  labels(name: string): { template: Record<string, string>; service: Record<string, string> }
}

/** An embedded API over HTTP that holds `objects`, with a kubeconfig for it. */
export const startCluster = async (
  objects: readonly KubernetesObject[] = [workload(), service()],
  options: EmbeddedApiOptions = {},
): Promise<Cluster> => {
  const api = createEmbeddedApi(options)
  api.seed(objects, { manager: 'juju' })
  const calls: string[] = []
  const intercept: Intercept = (request) => {
    calls.push(`${request.method} ${request.path}`)
    return cluster.intercept?.(request)
  }
  const server = await startEmbeddedApi({ api, port: 0, intercept })
  onTestFinished(() => server.close())
  const kubeconfig = join(await temporaryDirectory(), 'config')
  await writeFile(kubeconfig, JSON.stringify(configFor({ server: server.url, 'insecure-skip-tls-verify': true })))
  const object: Cluster['object'] = (kind, name) =>
    api
      .objects()
      .find(({ kind: other, metadata }) => other === kind && metadata.name === name && metadata.namespace === NAMESPACE)
  const cluster: Cluster = {
    api,
    url: server.url,
    environment: { KUBECONFIG: kubeconfig },
    calls,
    intercept: undefined,
    object,
    labels: (name) => {
      const template = object('StatefulSet', name)?.spec?.template as KubernetesObject | undefined
      return {
        template: template?.metadata.labels ?? {},
        service: object('Service', name)?.metadata.labels ?? {},
      }
    },
  }
  return cluster
}

/** A kubeconfig, which may be JSON, with one context. */
export const configFor = (cluster: Record<string, unknown>, user: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'here',
  clusters: [{ name: 'there', cluster }],
  users: [{ name: 'me', user }],
  contexts: [{ name: 'here', context: { cluster: 'there', user: 'me' } }],
})

/** Holds back the answers to the calls that match, from the first one until `release`. */
export const hold = (
  cluster: Cluster,
  matches: (call: string) => boolean,
): { held: Promise<void>; release(): void } => {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<undefined>()
  cluster.intercept = ({ method, path }) => {
    if (!matches(`${method} ${path}`)) return undefined
    reached.resolve()
    return released.promise
  }
  return { held: reached.promise, release: () => released.resolve(undefined) }
}
