import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Failure } from './failure.ts'

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

export type Reach = {
  readonly server: string
  readonly token?: string | undefined
  /** A context of kubectl. The functions are reached through a port-forward to `target`. */
  readonly context?: string | undefined
  readonly target: string
}

/** Connects to the functions at their URL, or in a cluster. Rejects with Failure if that is not possible. */
export const connect = async ({ server, token, context, target }: Reach): Promise<Server> => {
  // checked here, because an HTTP client quotes an invalid value in its error
  if (token !== undefined && !/^[!-~]+$/.test(token))
    throw new Failure('--token: expected printable ASCII without spaces')
  const forward = context === undefined ? undefined : await forwardTo(context, target)
  const base = (forward?.url ?? server).replace(/\/+$/, '')
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }

  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { ...authorization, ...init.headers }
    const response = await fetch(`${base}${path}`, { ...init, headers }).catch((error: Error) => {
      const { code, message = error.message } = (error.cause ?? {}) as Partial<NodeJS.ErrnoException>
      const remedy = code === 'ECONNREFUSED' ? 'start it with npx meshstep start, or name it' : 'name it'
      throw new Failure(`${base} does not answer (${code ?? message}): ${remedy} with --server or --context`)
    })
    if (!response.ok) throw new ErrorAnswer(response.status, await problemIn(response))
    return response
  }
  const read = async <T>(response: Response): Promise<T> => {
    const text = await response.text()
    try {
      return JSON.parse(text) as T
    } catch (error) {
      throw new Failure(`${base} answers no JSON: is it meshstep?`, 1, { cause: error })
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
      if (body === null) throw new Failure(`${base} answers nothing`)
      return body
    },
    close: () => forward?.close(),
  }
}

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
const forwardTo = async (context: string, target: string): Promise<{ url: string; close(): void }> => {
  const [namespace, name = ''] = target.includes('/')
    ? [target.split('/')[0], target.slice(target.indexOf('/') + 1)]
    : ['meshstep', target]
  const args = ['--context', context, '--namespace', String(namespace), 'port-forward', name, ':80']
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
