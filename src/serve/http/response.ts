/**
 * `Headers` and `Response` with the part that this program and Hono use. The build replaces Node's own by them, because the first use of those loads
 * undici and web streams, which costs 28 ms and 7 MB of a cold start. The sources, and so most tests, use Node's own.
 */

type Init = Iterable<[string, string]> | Readonly<Record<string, string>>

class LightHeaders {
  readonly #values = new Map<string, string>()

  constructor(init?: Init | undefined) {
    if (init === undefined) return
    const entries = Symbol.iterator in init ? (init as Iterable<[string, string]>) : Object.entries(init)
    for (const [name, value] of entries) this.append(name, value)
  }

  append(name: string, value: string): void {
    const known = this.get(name)
    this.set(name, known === null ? value : `${known}, ${value}`)
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase())
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), value)
  }

  forEach(use: (value: string, name: string) => void): void {
    this.#values.forEach(use)
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#values.entries()
  }
}

class LightResponse {
  readonly status: number
  readonly headers: LightHeaders

  readonly body: string | ReadableStream<Uint8Array> | null

  constructor(
    body: string | ReadableStream<Uint8Array> | null = null,
    { status = 200, headers }: { status?: number; headers?: Init | undefined } = {},
  ) {
    this.body = body
    this.status = status
    this.headers = new LightHeaders(headers)
    if (typeof body === 'string' && this.headers.get('content-type') === null)
      this.headers.set('content-type', 'text/plain;charset=UTF-8')
  }
}

export { LightHeaders as Headers, LightResponse as Response }
