import { lengthOf, literal } from './directives.ts'
import { isName, urlHost } from './hostname.ts'

/** The target of telemetry: the parts of a URL in a form that is safe in nginx.conf. */
export type TelemetryBackend = {
  readonly isTls: boolean
  /** A DNS name or an IP address. An IPv6 address is in brackets. */
  readonly host: string
  /** The value of the header Host. It includes the port unless that is the scheme's default. */
  readonly authority: string
  /** Starts with a slash, percent-encoded. */
  readonly path: string
  /** Percent-encoded without the question mark, or empty. */
  readonly query: string
}

export const urlOf = ({ isTls, authority, path, query }: TelemetryBackend): string =>
  `${isTls ? 'https' : 'http'}://${authority}${path}${query && `?${query}`}`

/** The limit of a URL. nginx reads parameters of up to 4096 bytes, and a few are left for additions. */
const MOST_BYTES = 4000

/** The form of a URL. URL.parse alone would drop line breaks, and accept `http:host`. */
const URL_TEXT = /^https?:\/\/[^\s\p{Cc}]+$/iu

/** Parses the URL of a backend, or returns the expected form. */
export const parseBackend = (text: string): TelemetryBackend | string => {
  const url = URL_TEXT.test(text) ? URL.parse(text) : null
  if (url === null) return 'expected a URL of http or https'
  return findProblem(url) ?? partsOf(url)
}

const findProblem = (url: URL): string | undefined => {
  if (url.username !== '' || url.password !== '') return 'expected a URL without user and password'
  if (!isHost(withoutDot(url.hostname))) return 'expected a DNS name or an IP address in the URL'
  if (url.port === '0') return 'expected a port from 1 to 65535 in the URL'
  if (lengthOf(literal(url.href)) > MOST_BYTES) return 'expected a shorter URL'
  return undefined
}

const partsOf = (url: URL): TelemetryBackend => {
  const host = withoutDot(url.hostname)
  return {
    isTls: url.protocol === 'https:',
    host,
    authority: url.port === '' ? host : `${host}:${url.port}`,
    path: url.pathname,
    query: url.search.slice(1),
  }
}

/** Tells if a host is safe in nginx.conf. The URL parser accepts more characters. */
const isHost = (host: string): boolean => host.startsWith('[') || isName(host)

/** Removes a final dot. It only matters to resolvers with a search list, which nginx lacks, and is never in a certificate. */
const withoutDot = (host: string): string => host.replace(/\.$/, '')

type Address = { readonly address: string; readonly port: number; readonly isTls: boolean }

/** Builds the backend at `path` of a DNS name or an IP address, or returns the expected form. */
export const addressBackend = ({ address, port, isTls }: Address, path: string): TelemetryBackend | string => {
  const host = urlHost(address)
  const backend = host && parseBackend(`${isTls ? 'https' : 'http'}://${host}:${port}${path}`)
  return typeof backend === 'object' ? backend : 'expected a DNS name or an IP address'
}
