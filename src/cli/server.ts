import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Failure } from './failure.ts'
import { say } from './output.ts'

/** A client of the functions, over HTTP. */
export type Server = {
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>
  /** Reads all pages of a list. */
  getAll<T>(path: string): Promise<T[]>
  post<T>(path: string, contentType: string, body: string): Promise<T>
  /** Opens a streamed answer. */
  open(path: string, query: Record<string, string>): Promise<AsyncIterable<Uint8Array>>
  close(): void
}

/** An error answer of the functions. */
export class ErrorAnswer extends Failure {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** A cluster, by a context of kubectl and the paths of its files. @default the current context of the files that kubectl reads */
export type Cluster = { readonly context?: string | undefined; readonly kubeconfig?: string | undefined }

export type Reach = {
  readonly server: string
  readonly token?: string | undefined
  /** The functions are reached there, through a port-forward to `target`. Without them, the cluster itself answers a question, with the rights of the user. */
  readonly cluster?: (Cluster & { readonly isQuestion: boolean }) | undefined
  readonly target: string
}

/** Reaches the functions, wherever they are. */
export type Connection = { send(path: string, init: RequestInit): Promise<Response>; close(): void }

/** Connects to the functions at their URL, or in a cluster. Rejects with Failure if that is not possible. */
export const connect = async ({ server, token, cluster, target }: Reach): Promise<Server> => {
  // checked here, because an HTTP client quotes an invalid value in its error
  if (token !== undefined && !/^[!-~]+$/.test(token))
    throw new Failure('--token: expected printable ASCII without spaces')
  const connection = cluster === undefined ? over(server) : await inCluster(cluster, target)
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }

  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { ...authorization, ...init.headers }
    const response = await connection.send(path, { ...init, headers })
    if (!response.ok) throw new ErrorAnswer(response.status, await problemIn(response))
    return response
  }
  const read = async <T>(response: Response): Promise<T> => {
    const text = await response.text()
    try {
      return JSON.parse(text) as T
    } catch (error) {
      throw new Failure(`${response.url} answers no JSON: is it meshstep?`, 1, { cause: error })
    }
  }
  return {
    get: async (path, query = {}, signal) => read(await ask(withQuery(path, query), { signal: signal ?? null })),
    getAll: async <T>(path: string) => {
      const items: T[] = []
      for (let query: string | undefined = ''; query !== undefined; ) {
        const page = await ask(`${path}${query}`)
        items.push(...(await read<T[]>(page)))
        query = nextPage(page)
      }
      return items
    },
    post: async (path, contentType, body) =>
      read(await ask(path, { method: 'POST', headers: { 'content-type': contentType }, body })),
    open: async (path, query) => {
      const { body } = await ask(withQuery(path, query))
      if (body === null) throw new Failure(`${path} is answered with nothing`)
      return body
    },
    close: connection.close,
  }
}

const over = (url: string, close = (): void => undefined): Connection => {
  const base = url.replace(/\/+$/, '')
  return {
    send: (path, init) =>
      fetch(`${base}${path}`, init).catch((error: Error) => {
        const { code, message = error.message } = (error.cause ?? {}) as Partial<NodeJS.ErrnoException>
        const remedy = code === 'ECONNREFUSED' ? 'start it with npx meshstep start, or name it' : 'name it'
        throw new Failure(`${base} does not answer (${code ?? message}): ${remedy} with --server or --context`)
      }),
    close,
  }
}

/** Reaches the functions in a cluster. Where there are none, a question is asked of the cluster itself. */
const inCluster = async (
  { isQuestion, ...cluster }: NonNullable<Reach['cluster']>,
  target: string,
): Promise<Connection> => {
  try {
    const { url, close } = await forwardTo(cluster, target)
    return over(url, close)
  } catch (error) {
    const { message } = error as Error
    if (!/not ?found/i.test(message)) throw error
    const direct = isQuestion ? await askDirectly(cluster).catch(() => undefined) : undefined
    if (direct === undefined)
      throw new Failure(`${message}: name where the functions are with --target`, 1, { cause: error })
    say(`${message}: the cluster itself is asked, with your own rights; --target names functions elsewhere`)
    return direct
  }
}

/** Answers questions in this process, by what the user of a kubeconfig may read. Rejects if there is no such cluster. */
const askDirectly = async (cluster: Cluster): Promise<Connection> => {
  const { createService } = await import('../serve/http/server.ts')
  const { readSettings } = await import('../serve/http/settings.ts')
  const transport = await transportTo(cluster)
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const { app } = createService({ settings: readSettings({}), names: [], transport, log: silent, isReading: true })
  return {
    send: async (path, init) => await app.fetch(new Request(`http://localhost${path}`, init)),
    close: () => transport.close(),
  }
}

/** Connects to the API server of a cluster, with the rights of the user. Rejects if there is no such cluster. */
export const transportTo = async ({ kubeconfig = kubeconfigFiles(), context }: Cluster) => {
  const { kubeconfigEndpoint } = await import('../platform/kubernetes/kubeconfig.ts')
  const { createTransport } = await import('../platform/kubernetes/transport.ts')
  return createTransport(kubeconfigEndpoint(kubeconfig, context))
}

/** Returns the namespace of a context, which is `default` if it names none, or is not known. */
export const namespaceOf = async ({ kubeconfig = kubeconfigFiles(), context }: Cluster): Promise<string> => {
  const { contextNamespace } = await import('../platform/kubernetes/kubeconfig.ts')
  return contextNamespace(kubeconfig, context) ?? 'default'
}

/** Returns the files that kubectl reads. */
const kubeconfigFiles = (): string => process.env.KUBECONFIG || join(homedir(), '.kube', 'config')

/** https://www.rfc-editor.org/rfc/rfc8288 */
const nextPage = ({ headers }: Response): string | undefined =>
  /<(\?[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]

/** Parameters by name. One without a value is left out, and one with several is repeated. */
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>

/** Adds the parameters that have a value. */
export const withQuery = (path: string, query: Query): string => {
  const given = Object.entries(query).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

const problemIn = async (response: Response): Promise<string> => {
  const text = await response.text()
  try {
    return String((JSON.parse(text) as { message: string }).message)
  } catch {
    return `${response.url} answers ${response.status}: ${text.slice(0, 200)}`
  }
}

/** Runs `kubectl port-forward` with a free port until it is closed. */
const forwardTo = async ({ context, kubeconfig }: Cluster, target: string): Promise<{ url: string; close(): void }> => {
  const [namespace, name = ''] = target.includes('/')
    ? [target.split('/')[0], target.slice(target.indexOf('/') + 1)]
    : ['meshstep', target]
  const args = [
    ...(kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig]),
    ...(context === undefined ? [] : ['--context', context]),
    ...['--namespace', String(namespace), 'port-forward', name, ':80'],
  ]
  const child = spawn('kubectl', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const errors: string[] = []
  child.stderr.on('data', (chunk) => errors.push(String(chunk)))
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new Failure(`kubectl cannot be run: ${error.message}`)))
    child.once('exit', (code) =>
      reject(new Failure(`kubectl port-forward ended with ${code}: ${errors.join('').trim()}`)),
    )
  })
  const forwarding = (async () => {
    for await (const line of createInterface(child.stdout)) {
      const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1]
      if (port !== undefined) return `http://127.0.0.1:${port}`
    }
    return await failed
  })()
  failed.catch(() => undefined)
  return { url: await Promise.race([forwarding, failed]), close: () => child.kill() }
}
