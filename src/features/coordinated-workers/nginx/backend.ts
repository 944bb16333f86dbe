import { lengthOf, literal } from './directives.ts'
import { isName, urlHost } from './hostname.ts'

/** The target of telemetry: the parts of a URL that are safe in nginx's configuration. */
export type TelemetryBackend = {
  readonly isTls: boolean
  /** A DNS name or an IP address, an IPv6 address in brackets. */
  readonly host: string
  /** The value of the header Host: with the port when it is not the scheme's default. */
  readonly authority: string
  /** Begins with a slash; percent-encoded. */
  readonly path: string
  /** Percent-encoded, without its question mark; empty for none. */
  readonly query: string
}

export const urlOf = ({ isTls, authority, path, query }: TelemetryBackend): string =>
  `${isTls ? 'https' : 'http'}://${authority}${path}${query && `?${query}`}`

/** nginx reads no parameter of more than 4096 bytes; a few are for what is added. */
const MOST_BYTES = 4000

/** A parser alone would drop line breaks, and accept `http:host`. */
const URL_TEXT = /^https?:\/\/[^\s\p{Cc}]+$/iu

/** Parses the URL of a backend, or returns what was expected instead. */
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

/** The parser accepts more characters in a host than nginx's configuration should see. */
const isHost = (host: string): boolean => host.startsWith('[') || isName(host)

/** A final dot is for resolvers with a search list, which nginx has not, and never in a certificate. */
const withoutDot = (host: string): string => host.replace(/\.$/, '')

type Address = { readonly address: string; readonly port: number; readonly isTls: boolean }

/** The backend at `path` of a DNS name or an IP address, or what was expected instead. */
export const addressBackend = ({ address, port, isTls }: Address, path: string): TelemetryBackend | string => {
  const host = urlHost(address)
  const backend = host && parseBackend(`${isTls ? 'https' : 'http'}://${host}:${port}${path}`)
  return typeof backend === 'object' ? backend : 'expected a DNS name or an IP address'
}
