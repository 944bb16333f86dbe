import { isIP } from 'node:net'

/** The headers by which a browser says where a request leads, and which page made it. */
type Asked = { readonly host?: string | undefined; readonly origin?: string | undefined }

/**
 * Tells why a request may come from a page of somebody else in a browser, or undefined where it does not. `names` may be named as Host, `*.`
 * before one stands for all below it, and `*` for any; localhost and IP addresses always may, as nobody can lead these elsewhere by DNS.
 * Who sends no Host, or no Origin, is no browser.
 */
export const hostOrOriginProblem = ({ host, origin }: Asked, names: readonly string[]): string | undefined => {
  if (host === undefined) return undefined
  if (!isOwn(hostnameOf(host), names))
    return `Host ${host.slice(0, 100)}: expected localhost, an IP address or a name that was allowed: allow it with ALLOWED_HOSTS if it leads here`
  if (origin === undefined || /^https?:\/\/(.*)$/i.exec(origin)?.[1]?.toLowerCase() === host.toLowerCase())
    return undefined
  return `Origin ${origin.slice(0, 100)}: a page of another host may not ask ${host.slice(0, 100)}`
}

/** Tells if nobody but this machine reaches what listens at an address, an IP or a name. */
export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))

const hostnameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '')

const isOwn = (name: string, names: readonly string[]): boolean =>
  name === 'localhost' ||
  isIP(name) === 4 ||
  isIP(/^\[(.*)\]$/.exec(name)?.[1] ?? '') === 6 ||
  names.some((one) => one === '*' || (one.startsWith('*.') ? name.endsWith(one.slice(1)) : name === one))
