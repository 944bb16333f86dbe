import { isIP } from 'node:net'

/** The headers in which a browser names the server and the page of a request. */
type Asked = { readonly host?: string | undefined; readonly origin?: string | undefined }

/**
 * Returns the reason why a browser page of another host may have sent a request, or undefined if it cannot have. `names` are the allowed hosts: `*.`
 * before a name allows all names below it, and `*` allows any. localhost and IP addresses are always allowed, because DNS cannot redirect them. A request
 * without Host or Origin does not come from a browser page.
 */
export const hostOrOriginProblem = ({ host, origin }: Asked, names: readonly string[]): string | undefined => {
  if (host === undefined) return undefined
  if (!isOwn(hostnameOf(host), names))
    return `Host ${host.slice(0, 100)}: expected localhost, an IP address or a name that was allowed: allow it with ALLOWED_HOSTS if it leads here`
  if (origin === undefined || /^https?:\/\/(.*)$/i.exec(origin)?.[1]?.toLowerCase() === host.toLowerCase())
    return undefined
  return `Origin ${origin.slice(0, 100)}: a page of another host may not ask ${host.slice(0, 100)}`
}

/** Tells if only this machine can reach an address. The address is an IP or a name. */
export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))

const hostnameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '')

const isOwn = (name: string, names: readonly string[]): boolean =>
  name === 'localhost' ||
  isIP(name) === 4 ||
  isIP(/^\[(.*)\]$/.exec(name)?.[1] ?? '') === 6 ||
  names.some((one) => one === '*' || (one.startsWith('*.') ? name.endsWith(one.slice(1)) : name === one))
