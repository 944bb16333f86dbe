import { isIP } from 'node:net'
import { shown } from '../../base/printed.ts'
import type { Directive } from './directives.ts'
import { urlHost } from './hostname.ts'
import type { Routing } from './routing.ts'

/** How names are looked up when they are needed, and why they cannot be. */
export type Resolver = { readonly directives: readonly Directive[]; readonly problems: readonly string[] }

/**
 * Names are looked up as they are, without a search list. There is no `valid`: an address is kept as long as the DNS says, and a worker that
 * moved is found again after the TTL of the cluster.
 */
export const resolverOf = (routing: Pick<Routing, 'resolver' | 'ipv6'>): Resolver => {
  const address = addressOf(routing.resolver)
  if (address === undefined)
    return { directives: [], problems: [`resolver: expected an IP address, got ${shown(routing.resolver)}`] }
  const families = hasIpv6(routing) ? [] : ['ipv6=off']
  return {
    directives: [
      ['resolver', address, ...families],
      ['resolver_timeout', '5s'],
    ],
    problems: [],
  }
}

/** A pod that asks its DNS over IPv6 has IPv6. Another may be on a machine without it, where listening on it stops nginx. */
export const hasIpv6 = ({ resolver, ipv6 }: Pick<Routing, 'resolver' | 'ipv6'>): boolean =>
  ipv6 ?? addressOf(resolver)?.startsWith('[') ?? false

/** An address, with a port or without, as nginx takes it. It would look up a name when it starts, and end when that fails. */
const addressOf = (text: string): string | undefined => {
  const host = isIP(text) === 0 ? text.replace(/:\d{1,5}$/, '') : text
  const address = host.replace(/^\[(.*)\]$/, '$1')
  const port = text.slice(host.length)
  const isPort = port === '' || (Number(port.slice(1)) > 0 && Number(port.slice(1)) <= 65535)
  const inBrackets = isIP(address) === 0 ? undefined : urlHost(address)
  return inBrackets !== undefined && isPort ? `${inBrackets}${port}` : undefined
}
