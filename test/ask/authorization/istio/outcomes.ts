import { BlockList, isIPv6 } from 'node:net'

/**
 * What Istio would do, written a second time: policies are translated as istiod does, into the DENY and ALLOW lists of a ztunnel and the
 * principals and permissions of an Envoy, and these are run. Whatever is not known is run as both, so that each result is the set of
 * all that may come out.
 */
export type Outcomes = ReadonlySet<boolean>

export const YES: Outcomes = new Set([true])
export const NO: Outcomes = new Set([false])
export const EITHER: Outcomes = new Set([true, false])

export const certain = (value: boolean): Outcomes => (value ? YES : NO)
export const not = (set: Outcomes): Outcomes => new Set([...set].map((value) => !value))
export const union = (sets: readonly Outcomes[]): Outcomes => new Set(sets.flatMap((set) => [...set]))
export const every = (sets: readonly Outcomes[]): Outcomes =>
  new Set([
    ...(sets.every((set) => set.has(true)) ? [true] : []),
    ...(sets.some((set) => set.has(false)) ? [false] : []),
  ])
export const some = (sets: readonly Outcomes[]): Outcomes => not(every(sets.map(not)))

/** A connection, and the request in it; `undefined` is not known, but for the identity, which is then absent. */
export type Wire = {
  spiffe: string | undefined
  /** There may be an identity that is not known. */
  isUnknown?: boolean | undefined
  ip: string | undefined
  port: number
  method?: string | undefined
  path?: string | undefined
  host?: string | undefined
}

const ADDRESSES = ['10.1.2.3', '192.168.0.1', '172.16.0.1', '2001:db8::1']

const inBlock = (block: string, ip: string): boolean => {
  const [network = '', bits] = block.split('/')
  const family = isIPv6(network) ? 'ipv6' : 'ipv4'
  if (isIPv6(ip) !== isIPv6(network)) return false
  const list = new BlockList()
  list.addSubnet(network, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  return list.check(ip, family)
}

export type Lists = { values?: readonly string[] | undefined; notValues?: readonly string[] | undefined }

export const lists = (values?: readonly string[], notValues?: readonly string[]): Lists => ({ values, notValues })
export const isFilled = ({ values = [], notValues = [] }: Lists): boolean => values.length + notValues.length > 0

export const run = ({ values = [], notValues = [] }: Lists, matches: (value: string) => Outcomes): Outcomes =>
  every([values.length === 0 ? YES : some(values.map(matches)), not(some(notValues.map(matches)))])

export const runAddress = (blocks: Lists, ip: string | undefined): Outcomes =>
  union(
    (ip === undefined ? ADDRESSES : [ip]).map((address) => run(blocks, (block) => certain(inBlock(block, address)))),
  )
