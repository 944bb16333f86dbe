import { BlockList, isIP } from 'node:net'
import { principal } from '../../istio/names.ts'
import type { Facts, Identity } from './facts.ts'
import type { Fact } from './field.ts'
import { matchesPath } from './path.ts'
import { matchesGlob, matchesText } from './text.ts'

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

export const sourcePrincipal = (facts: Facts): Fact => {
  const fact = ofIdentity('source', facts, principal)
  const { envoy } = facts
  return envoy ? { ...fact, matches: (pattern) => fact.matches(inTrustDomain(pattern, envoy.trustDomain)) } : fact
}

/**
 * For an Envoy `cluster.local`, and a pattern that the own trust domain matches, stand for the own trust domain
 * (istio.io/latest/docs/tasks/security/authorization/authz-td-migration).
 */
const inTrustDomain = (pattern: string, trustDomain: string): string => {
  const [named = '', ...rest] = pattern.split('/')
  if (rest.length !== 4 || named.startsWith('*')) return pattern
  const isOwn = named === 'cluster.local' || matchesText(named, trustDomain)
  return isOwn ? [trustDomain, ...rest].join('/') : pattern
}

/** An Envoy looks for the pattern anywhere behind `/ns/`, where its `*` also stands for slashes. */
export const sourceNamespace = (facts: Facts): Fact => {
  const { envoy, identity } = facts
  const fact = ofIdentity('source namespace', facts, ({ namespace }) => namespace)
  if (envoy === undefined || identity === undefined) return fact
  return { ...fact, matches: (pattern) => matchesGlob(`*/ns/${pattern}/*`, principal(identity)) }
}

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

export const sourceAddress = ({ address }: Facts): Fact => ({
  name: 'source address',
  value: address,
  matches: (block) => address !== undefined && isInBlock(address, block),
})

/** The blocks that say something: every address is in one of them where both families are there as a whole. */
export const limiting = (blocks: readonly string[] = []): readonly string[] => {
  const whole = blocks.filter((block) => block.endsWith('/0'))
  const hasBoth = whole.some((block) => block.includes(':')) && whole.some((block) => !block.includes(':'))
  return hasBoth ? [] : blocks
}

export const destinationPort = ({ port }: Facts): Fact => ({
  name: 'port',
  value: String(port),
  matches: (pattern) => (isPort(pattern) ? Number(pattern) === port : undefined),
})

const isPort = (text: string): boolean => /^\d+$/.test(text) && Number(text) <= 65_535

export const requestMethod = ({ method }: Facts): Fact => text('method', method)

/** As a header, upper and lower case differ. */
export const requestAuthority = ({ host }: Facts): Fact => text('host', host)

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
