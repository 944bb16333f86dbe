import * as z from 'zod'
import { changingFile } from '../../platform/base/changing-file.ts'
import { ConfigurationError, Refused, Unavailable } from '../../platform/base/errors.ts'
import { sendHttpRequest } from '../../platform/base/http-request.ts'
import { type JsonMap, mapOf, parsed } from '../../platform/base/json.ts'

export type PrometheusSettings = {
  /** The address of the HTTP API, with a path before `/api/v1` if there is one. */
  readonly url: string
  /** Files with a bearer token, with headers as `Name: value` lines, and with certificates of authorities. They are read again after a change. */
  readonly tokenFile?: string | undefined
  readonly headersFile?: string | undefined
  readonly caFile?: string | undefined
}

/** A series at one moment. A label that is missing is empty for Prometheus. */
export type Series = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

/** Rounds a number that Prometheus extrapolated. What was seen at all is one at least. */
export const rounded = (value: number): number => (value > 0 ? Math.max(1, Math.round(value)) : 0)

/**
 * Evaluates an expression now. Rejects with Unavailable where a retry may help, with Refused, 413, where a smaller question would, and with
 * ConfigurationError where a person must repair a setting.
 */
export type QueryPrometheus = (expression: string) => Promise<Series[]>

type Limits = {
  readonly timeoutMilliseconds: number
  readonly mostSeries: number
  readonly mostCharacters: number
}

const LIMITS: Limits = { timeoutMilliseconds: 10_000, mostSeries: 5_000, mostCharacters: 16_000_000 }

/** Creates a client that only queries. */
export const createPrometheus = (settings: PrometheusSettings, limits: Limits = LIMITS): QueryPrometheus => {
  const url = `${settings.url.replace(/\/+$/, '')}/api/v1/query`
  const [readToken, readHeaders, readAuthority] = [
    reading(settings.tokenFile, 'PROMETHEUS_TOKEN_FILE'),
    reading(settings.headersFile, 'PROMETHEUS_HEADERS_FILE'),
    reading(settings.caFile, 'PROMETHEUS_CA_FILE'),
  ]
  const { timeoutMilliseconds, mostSeries, mostCharacters } = limits
  return async (query) => {
    const [token, given, ca] = [tokenIn(readToken()), headersIn(readHeaders()), readAuthority()]
    if (token !== undefined && given.authorization !== undefined) throw new ConfigurationError(TWO_AUTHORIZATIONS)
    const form = { query, timeout: `${timeoutMilliseconds}ms`, limit: `${mostSeries + 1}` }
    const answer = await sendHttpRequest(url, {
      method: 'POST',
      headers: {
        ...given,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: `${new URLSearchParams(form)}`,
      ...{ timeoutMilliseconds, mostCharacters, ...(ca !== undefined && { ca }) },
    }).catch((error: NodeJS.ErrnoException) => {
      throw noAnswer(url, error)
    })
    return read(url, answer, limits)
  }
}

const read = (
  url: string,
  { status, body }: { readonly status: number; readonly body: string },
  { mostSeries, mostCharacters }: Limits,
): Series[] => {
  const said = mapOf(parsed(body))
  if (status !== 200) throw problemOf(url, status, firstWords(typeof said.error === 'string' ? said.error : body))
  const found = body.length > mostCharacters ? 'too many' : Vector.safeParse(said).data?.data.result
  if (found === undefined) throw noApi(url, `answers ${firstWords(body)}`)
  if (found === 'too many' || found.length > mostSeries)
    throw new Refused(413, `Prometheus at ${url} has more than ${mostSeries} series for this: ${ASK_LESS}`)
  const lack = lackOf(said)
  if (lack !== undefined) throw partial(url, lack)
  return found
}

const ASK_LESS = 'ask about a smaller namespace with -n, or a shorter --window. To send the same again does not help'

const reading = (path: string | undefined, setting: string): (() => string | undefined) => {
  if (path === undefined) return () => undefined
  const read = changingFile(path)
  return () => {
    try {
      return read().trim()
    } catch (error) {
      throw new ConfigurationError(`${setting}: ${path} cannot be read: mount it, or name another file`, {
        cause: error,
      })
    }
  }
}

/** A header carries one line of printable characters. */
const tokenIn = (text: string | undefined): string | undefined => {
  if (text === undefined || /^[!-~]+$/.test(text)) return text
  throw new ConfigurationError('PROMETHEUS_TOKEN_FILE: the file has no bearer token: put one, on one line, into it')
}

/** Parses headers, such as the tenant or `Authorization: Basic …`. Errors quote no value, which may be secret. */
const headersIn = (text = ''): Readonly<Record<string, string>> => {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line, index) => {
      const [, name, value] = /^([-!#$%&'*+.^_`|~\w]+):[ \t]*([ -~]*?)[ \t]*$/.exec(line) ?? []
      if (name === undefined || value === undefined)
        throw new ConfigurationError(
          `PROMETHEUS_HEADERS_FILE: line ${index + 1} is no header: write one \`Name: value\` on each line`,
        )
      return [name.toLowerCase(), value]
    }),
  )
}

const TWO_AUTHORIZATIONS =
  'PROMETHEUS_HEADERS_FILE has an Authorization, and PROMETHEUS_TOKEN_FILE is another: leave one of them out'

/** Codes of OpenSSL and of Node for a certificate that is not accepted. */
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_|ISSUER|ERR_TLS|ERR_SSL/

const noAnswer = (url: string, error: NodeJS.ErrnoException): Error => {
  const { code = error.message } = error
  return CERTIFICATE.test(code)
    ? new ConfigurationError(
        `Prometheus at ${url} cannot be trusted (${code}): name the certificate of its authority in PROMETHEUS_CA_FILE. A retry does not help`,
        { cause: error },
      )
    : new Unavailable(
        `Prometheus at ${url} does not answer (${code}): a retry may help. If it does not, check PROMETHEUS_URL and the policies of the network`,
        { cause: error },
      )
}

const problemOf = (url: string, status: number, said: string): Error => {
  if (status === 401 || status === 403)
    return new ConfigurationError(
      `Prometheus at ${url} refuses the request (${status}, ${said}): put a valid token into PROMETHEUS_TOKEN_FILE, or the headers that it asks for, such as a tenant, into PROMETHEUS_HEADERS_FILE. A retry does not help`,
    )
  if (status === 422)
    return new Refused(413, `Prometheus at ${url} cannot evaluate the query (422, ${said}): ${ASK_LESS}`)
  if (status === 429 || status >= 500)
    return new Unavailable(
      `Prometheus at ${url} answers ${status} (${said}): a retry may help. If it does not, ask for a shorter --window`,
    )
  return noApi(url, `answers ${status} (${said})`)
}

const noApi = (url: string, what: string): Error =>
  new ConfigurationError(
    `Prometheus at ${url} ${what}, where its HTTP API is expected: check the path of PROMETHEUS_URL. A retry does not help`,
  )

/** Returns the error of an answer that lacks something: that is not silence. */
const partial = (url: string, said: string): Error =>
  new Unavailable(
    `Prometheus at ${url} warns that its answer is not whole (${said}): a retry may help. If it does not, repair what it asks for series`,
  )

/** Keeps an error short, and away from the control of a terminal: a page of HTML says no more. */
const firstWords = (text: string): string =>
  text
    .slice(0, 1_000)
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, 80) || 'nothing'

/**
 * Returns the reason why an answer is a part of what is known. Those that join several stores say so of one that is down, with warnings or with `isPartial`. What is
 * only worth to know is in `infos`.
 */
const lackOf = ({ warnings, isPartial }: JsonMap): string | undefined => {
  if (Array.isArray(warnings) && warnings.length > 0) return firstWords(String(warnings))
  return isPartial === true ? 'isPartial' : undefined
}

/** A vector (https://prometheus.io/docs/prometheus/latest/querying/api/#instant-vectors). Counts are finite, and never below zero. */
const Vector = z.object({
  data: z.object({
    result: z.array(
      z
        .object({
          metric: z.record(z.string(), z.string()),
          value: z.tuple([z.unknown(), z.coerce.number().nonnegative()], z.unknown()),
        })
        .transform(({ metric, value }): Series => ({ labels: metric, value: value[1] })),
    ),
  }),
})
