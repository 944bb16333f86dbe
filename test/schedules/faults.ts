import type { TransportAnswer } from './process.ts'

/** A fault on the way to the API server and back. */
export type Fault = {
  /** When the API server executes the call: before the process hears of the fault, at some time after that, or never. */
  readonly executed: 'before' | 'late' | 'never'
  /** The answer that the process gets out of the real one; undefined where the connection ends without one. */
  answer?(real: TransportAnswer | undefined): TransportAnswer
}

const answered =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  () => ({
    ...{ status, headers, body },
  })

const PAGE = '<html><body>upstream connect error or disconnect/reset before headers</body></html>'
const failure = (code: number): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'etcd', code })

const cut = (real: TransportAnswer | undefined): TransportAnswer => {
  const { status, body } = real ?? { status: 200, body: '' }
  return { status, headers: {}, body: body.slice(0, body.length / 2) }
}

/** What proxies and API servers do. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'the connection is reset': { executed: 'never' },
  'the connection is reset after the call': { executed: 'before' },
  'the call is late and its answer lost': { executed: 'late' },
  'the answer is cut short': { executed: 'before', answer: cut },
  'a page is answered with 200': { executed: 'never', answer: answered(200, PAGE) },
  'a page is answered with 404': { executed: 'never', answer: answered(404, PAGE) },
  'busy, with Retry-After': { executed: 'never', answer: answered(429, failure(429), { 'retry-after': '1' }) },
  'the API server fails': { executed: 'never', answer: answered(500, failure(500)) },
  'the API server fails after the call': { executed: 'before', answer: answered(500, failure(500)) },
  'nobody is there': { executed: 'never', answer: answered(503, PAGE) },
  'the gateway gives up before the call': { executed: 'never', answer: answered(504, failure(504)) },
  'the gateway gives up after the call': { executed: 'before', answer: answered(504, PAGE) },
  'the gateway gives up and the call is late': { executed: 'late', answer: answered(504, PAGE) },
}
