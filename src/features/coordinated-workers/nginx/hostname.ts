import { isIP } from 'node:net'

/**
 * Makes a path segment of a host: an IP address with hyphens, or the letters, digits and hyphens of a name's first label. Throws RangeError if nothing is
 * left. Different hosts may get the same segment.
 */
export const sanitizeHostname = (hostname: string): string => {
  if (isIP(hostname) !== 0) return hostname.replaceAll(/[.:]/g, '-')
  const [label = ''] = hostname.split('.')
  const name = label.replaceAll(/[^a-zA-Z0-9-]/g, '').replaceAll(/^-+|-+$/g, '')
  if (name === '')
    throw new RangeError(`Cannot sanitize hostname to valid nginx upstream name: '${hostname.slice(0, 253)}'`)
  return name
}

/** Formats a host for a URL, with an IPv6 address in brackets. Returns undefined for neither a DNS name nor an IP address. */
export const urlHost = (host: string): string | undefined => {
  if (isIP(host) === 6) return host.includes('%') ? undefined : `[${host}]` // a zone has no meaning on another machine
  return isName(host) ? host : undefined
}

export const hostPort = (host: string, port: number): string => `${urlHost(host) ?? host}:${port}`

const LABEL = /^[a-z0-9]([-_a-z0-9]{0,61}[a-z0-9])?$/i

/** Tells if a host is a DNS name. An IPv4 address counts too. */
export const isName = (host: string): boolean =>
  host.length <= 253 && host.split('.').every((label) => LABEL.test(label))
