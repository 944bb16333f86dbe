import { BlockList, isIP } from 'node:net'
import { principal } from '../../../mesh/istio/names.ts'
import type { Attribute } from './matcher.ts'
import { matchesPath } from './path.ts'
import type { Identity, RequestContext, TrustDomains } from './request-context.ts'
import { matchesGlob, matchesHost, matchesText } from './text.ts'

const NO_IDENTITY = 'the client is outside the mesh and has no identity'

const textAttribute = (name: string, value: string | undefined): Attribute => ({
  name,
  value,
  matches: (pattern) => value !== undefined && matchesText(pattern, value),
})

const identityAttribute = (
  name: string,
  { identity, isUnknown }: RequestContext,
  value: (identity: Identity) => string,
): Attribute => ({
  ...textAttribute(name, identity && value(identity)),
  ...(!isUnknown && { absent: NO_IDENTITY }),
})

export const sourcePrincipal = (context: RequestContext): Attribute => {
  const attribute = identityAttribute('source', context, principal)
  const { envoy } = context
  return envoy ? { ...attribute, matches: (pattern) => matchesPrincipal(attribute, pattern, envoy) } : attribute
}

/**
 * Matches a principal as Envoy does. A pattern with `cluster.local`, the own trust domain or an alias of it matches the own trust domain and all its
 * aliases (istio.io/latest/docs/tasks/security/authorization/authz-td-migration). Returns undefined if an unknown alias would decide.
 */
const matchesPrincipal = (
  { matches }: Attribute,
  pattern: string,
  { trustDomain, aliases }: TrustDomains,
): boolean | undefined => {
  const [named = '', ...rest] = pattern.split('/')
  if (rest.length !== 4 || named.startsWith('*')) return matches(pattern)
  const known = aliases === 'unknown' ? [] : aliases
  const own = [trustDomain, ...known]
  const isOwn = named === 'cluster.local' || own.some((domain) => matchesText(named, domain))
  const isMatch = own.some((domain) => matches([domain, ...rest].join('/')))
  if (isOwn) return isMatch
  return aliases === 'unknown' && isMatch ? undefined : matches(pattern)
}

/** Matches the namespace as Envoy does: anywhere behind `/ns/`, where `*` also matches slashes. */
export const sourceNamespace = (context: RequestContext): Attribute => {
  const { envoy, identity } = context
  const attribute = identityAttribute('source namespace', context, ({ namespace }) => namespace)
  if (envoy === undefined || identity === undefined) return attribute
  return { ...attribute, matches: (pattern) => matchesGlob(`*/ns/${pattern}/*`, principal(identity)) }
}

export const sourceTrustDomain = (context: RequestContext): Attribute => {
  const attribute = identityAttribute('trust domain', context, ({ trustDomain }) => trustDomain)
  const { envoy } = context
  return envoy ? { ...attribute, matches: (pattern) => matchesTrustDomain(attribute, pattern, envoy) } : attribute
}

/**
 * Matches a trust domain as Envoy does: the exact trust domain of the mesh, or an exact alias, matches all of them (istio's
 * pilot/pkg/security/trustdomain/bundle.go). Returns undefined if an unknown alias would decide.
 */
const matchesTrustDomain = (
  { matches }: Attribute,
  pattern: string,
  { trustDomain, aliases }: TrustDomains,
): boolean | undefined => {
  const own = [trustDomain, ...(aliases === 'unknown' ? [] : aliases)]
  if (own.includes(pattern)) return own.some((domain) => matches(domain))
  if (matches(pattern)) return true
  return aliases === 'unknown' && !pattern.includes('*') && matches(trustDomain) ? undefined : false
}

/** Matches `namespace/name`, or a `name` in `policyNamespace`. */
export const sourceServiceAccount = (context: RequestContext, policyNamespace: string): Attribute => {
  const value = context.identity && `${context.identity.namespace}/${context.identity.serviceAccount}`
  return {
    name: 'service account',
    value,
    ...(!context.isUnknown && { absent: NO_IDENTITY }),
    matches: (pattern) => value === (pattern.includes('/') ? pattern : `${policyNamespace}/${pattern}`),
  }
}

export const sourceAddress = ({ address }: RequestContext): Attribute => ({
  name: 'source address',
  value: address,
  matches: (block) => address !== undefined && isInBlock(address, block),
})

/** Drops the blocks if they cover all addresses of both families, because then they restrict nothing. */
export const restrictingBlocks = (blocks: readonly string[] = []): readonly string[] => {
  const whole = blocks.filter((block) => block.endsWith('/0'))
  const hasBoth = whole.some((block) => block.includes(':')) && whole.some((block) => !block.includes(':'))
  return hasBoth ? [] : blocks
}

export const destinationPort = ({ port }: RequestContext): Attribute => ({
  name: 'port',
  value: String(port),
  matches: (pattern) => (isPort(pattern) ? Number(pattern) === port : undefined),
})

const isPort = (text: string): boolean => /^\d+$/.test(text) && Number(text) <= 65_535

export const requestMethod = ({ method }: RequestContext): Attribute => textAttribute('method', method)

/** Compares the host as a header, so upper and lower case differ. */
export const requestAuthority = ({ host }: RequestContext): Attribute => textAttribute('host', host)

export const requestHost = ({ host }: RequestContext): Attribute => ({
  ...textAttribute('host', host),
  matches: (pattern) => host !== undefined && matchesHost(pattern, host),
})

export const requestPath = ({ path }: RequestContext): Attribute => ({
  ...textAttribute('path', path),
  matches: (pattern) => path !== undefined && matchesPath(pattern, path),
})

/** Makes an attribute that is never known offline: a token, the client behind a proxy, or a header. */
export const unknownAttribute = (name: string): Attribute => ({ name, value: undefined, matches: () => undefined })

/** Tells if an address is in a block. Returns undefined if either is not valid. */
export const isInBlock = (address: string, block: string): boolean | undefined => {
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
