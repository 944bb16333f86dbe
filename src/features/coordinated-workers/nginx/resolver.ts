import { isIP } from 'node:net'
import { printValue } from '../../../platform/base/printed.ts'
import type { Directive } from './directives.ts'
import { urlHost } from './hostname.ts'
import type { Routing } from './routing.ts'

/** The directives of nginx's DNS resolver, and their problems. */
export type Resolver = { readonly directives: readonly Directive[]; readonly problems: readonly string[] }

/**
 * Configures DNS lookups at run time, without a search list. There is no `valid`: an address is cached for the DNS TTL, after which a
 * moved worker is found again.
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

/** A pod with a DNS resolver on IPv6 has IPv6. Another may run on a machine without, where listening on IPv6 stops nginx. */
export const hasIpv6 = ({ resolver, ipv6 }: Pick<Routing, 'resolver' | 'ipv6'>): boolean =>
  ipv6 ?? parseAddress(resolver)?.startsWith('[') ?? false

/** The address of a resolver, with an optional port. A name would be looked up at start, and stop nginx when that fails. */
const parseAddress = (text: string): string | undefined => {
  const host = isIP(text) === 0 ? text.replace(/:\d{1,5}$/, '') : text
  const address = host.replace(/^\[(.*)\]$/, '$1')
  const port = text.slice(host.length)
  const isPort = port === '' || (Number(port.slice(1)) > 0 && Number(port.slice(1)) <= 65535)
  const inBrackets = isIP(address) === 0 ? undefined : urlHost(address)
  return inBrackets !== undefined && isPort ? `${inBrackets}${port}` : undefined
}
