import { BlockList, isIP } from 'node:net'
import { principal } from '../../mesh/names.ts'
import type { Facts, Identity } from './facts.ts'
import type { Fact } from './field.ts'
import { matchesPath } from './path.ts'
import { matchesText } from './text.ts'

const NO_IDENTITY = 'the client is outside the mesh and has no identity'

const text = (name: string, value: string | undefined): Fact => ({
  name,
  value,
  matches: (pattern) => value !== undefined && matchesText(pattern, value),
})

const ofIdentity = (name: string, { identity }: Facts, value: (identity: Identity) => string): Fact => ({
  ...text(name, identity && value(identity)),
  absent: NO_IDENTITY,
})

export const sourcePrincipal = (facts: Facts): Fact => ofIdentity('source', facts, principal)

export const sourceNamespace = (facts: Facts): Fact =>
  ofIdentity('source namespace', facts, ({ namespace }) => namespace)

export const sourceTrustDomain = (facts: Facts): Fact =>
  ofIdentity('trust domain', facts, ({ trustDomain }) => trustDomain)

/** A pattern is `namespace/name`, or `name` for one in `policyNamespace`. */
export const sourceServiceAccount = (facts: Facts, policyNamespace: string): Fact => {
  const value = facts.identity && `${facts.identity.namespace}/${facts.identity.serviceAccount}`
  return {
    name: 'service account',
    value,
    absent: NO_IDENTITY,
    matches: (pattern) => value === (pattern.includes('/') ? pattern : `${policyNamespace}/${pattern}`),
  }
}

/** Every address is in a block of size 0, also one that is not known. */
export const sourceAddress = ({ address }: Facts, blocks: readonly string[] = []): Fact =>
  address === undefined && blocks.some((block) => block.endsWith('/0'))
    ? { name: 'source address', value: 'of any kind', matches: (block) => block.endsWith('/0') || undefined }
    : {
        name: 'source address',
        value: address,
        matches: (block) => address !== undefined && isInBlock(address, block),
      }

export const destinationPort = ({ port }: Facts): Fact => ({
  name: 'port',
  value: String(port),
  matches: (pattern) => Number(pattern) === port,
})

export const requestMethod = ({ method }: Facts): Fact => text('method', method)

export const requestHost = ({ host }: Facts): Fact => ({
  ...text('host', host),
  matches: (pattern) => host !== undefined && matchesText(pattern.toLowerCase(), host.toLowerCase()),
})

export const requestPath = ({ path }: Facts): Fact => ({
  ...text('path', path),
  matches: (pattern) => path !== undefined && matchesPath(pattern, path),
})

/** Of a fact that no offline answer has: a token, the client behind a proxy, a header. */
export const notKnown = (name: string): Fact => ({ name, value: undefined, matches: () => undefined })

/** Undefined where either is not an address. */
const isInBlock = (address: string, block: string): boolean | undefined => {
  const [network = '', bits] = block.split('/')
  const kind = isIP(address)
  if (kind === 0 || isIP(network) === 0) return undefined
  if (kind !== isIP(network)) return false
  const family = kind === 4 ? 'ipv4' : 'ipv6'
  const size = bits === undefined ? (kind === 4 ? 32 : 128) : Number(bits)
  if (!Number.isInteger(size) || size < 0 || size > (kind === 4 ? 32 : 128)) return undefined
  const list = new BlockList()
  list.addSubnet(network, size, family)
  return list.check(address, family)
}
