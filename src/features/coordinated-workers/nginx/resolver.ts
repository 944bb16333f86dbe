import { isIP } from 'node:net'
import { printValue } from '../../../platform/base/printed.ts'
import type { Directive } from './directives.ts'
import { urlHost } from './hostname.ts'
import type { Routing } from './routing.ts'

/** The directives of nginx's DNS resolver, and their problems. */
export type Resolver = { readonly directives: readonly Directive[]; readonly problems: readonly string[] }

/**
 * Configures DNS lookups at run time, without a search list. There is no `valid`, so an address is cached for its DNS TTL, and a moved worker is found
 * after that.
 */
export const parseResolver = (routing: Pick<Routing, 'resolver' | 'ipv6'>): Resolver => {
  const address = parseAddress(routing.resolver)
  if (address === undefined)
    return { directives: [], problems: [`resolver: expected an IP address, got ${printValue(routing.resolver)}`] }
  const families = hasIpv6(routing) ? [] : ['ipv6=off']
  return {
    directives: [
      ['resolver', address, ...families],
      ['resolver_timeout', '5s'],
    ],
    problems: [],
  }
}

/** Tells if the pods have IPv6. A resolver with an IPv6 address proves it. Without IPv6, a listener on it would stop nginx. */
export const hasIpv6 = ({ resolver, ipv6 }: Pick<Routing, 'resolver' | 'ipv6'>): boolean =>
  ipv6 ?? parseAddress(resolver)?.startsWith('[') ?? false

/** Parses the address of a resolver, with an optional port. A name is not allowed, because nginx would resolve it at start, and stop if that fails. */
const parseAddress = (text: string): string | undefined => {
  const host = isIP(text) === 0 ? text.replace(/:\d{1,5}$/, '') : text
  const address = host.replace(/^\[(.*)\]$/, '$1')
  const port = text.slice(host.length)
  const isPort = port === '' || (Number(port.slice(1)) > 0 && Number(port.slice(1)) <= 65535)
  const inBrackets = isIP(address) === 0 ? undefined : urlHost(address)
  return inBrackets !== undefined && isPort ? `${inBrackets}${port}` : undefined
}
