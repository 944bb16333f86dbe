import { isIP } from 'node:net'
import { isInBlock } from '../../authorization/evaluate/attributes.ts'
import { OUTSIDE } from '../../authorization/query.ts'
import { type Client, outsideClient } from './clients.ts'

const OUTSIDE_IPV6 = '2001:db8::1'

/** Lists clients outside the mesh, one for each set of blocks that an address may be in. Without blocks there is one client for each family of addresses. */
export const outsideClients = (blocks: readonly string[]): Client[] => {
  const valid = [...new Set(blocks)].flatMap((text) => blockOf(text) ?? [])
  const edges = valid.flatMap(({ first, size, family }) => [addressOf(first, family), addressOf(first + size, family)])
  const found = new Map<string, Client>()
  for (const address of [OUTSIDE, OUTSIDE_IPV6, ...edges].filter((one) => one !== undefined)) {
    const around = valid.filter(({ text }) => isInBlock(address, text))
    const [narrowest] = around.toSorted((one, other) => (one.size < other.size ? -1 : 1))
    const beside = valid.filter((one) => !around.includes(one) && (!narrowest || isWithin(one, narrowest)))
    const key = around.map(({ text }) => text).join(' ')
    const not = beside.map(({ text }) => text)
    if (!found.has(key)) found.set(key, outsideClient(address, { block: narrowest?.text, not }))
  }
  return [...found.values()]
}

type Block = NonNullable<ReturnType<typeof blockOf>>

const isWithin = (one: Block, other: Block): boolean =>
  one.family === other.family && one.first >= other.first && one.first + one.size <= other.first + other.size

type Family = 'ipv4' | 'ipv6'

const blockOf = (text: string) => {
  const [network = '', given] = text.split('/')
  const family: Family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
  const width = family === 'ipv6' ? 128 : 32
  const bits = given === undefined ? width : Number(given)
  if (isIP(network) === 0 || !Number.isInteger(bits) || bits < 0 || bits > width) return undefined
  const size = 1n << BigInt(width - bits)
  const number = family === 'ipv6' ? ipv6Number(network) : ipv4Number(network)
  return { text, family, size, first: number - (number % size) }
}

const ipv4Number = (text: string): bigint => text.split('.').reduce((number, part) => number * 256n + BigInt(part), 0n)

/** Parses a valid IPv6 address. The URL class normalizes it, so that only one run of zeros is left to expand. */
const ipv6Number = (text: string): bigint => {
  const [head = '', tail] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split('::')
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')))
  const zeros = Array.from({ length: 8 - (before?.length ?? 0) - (after?.length ?? 0) }, () => '0')
  return [...(before ?? []), ...zeros, ...(after ?? [])].reduce(
    (number, part) => number * 65_536n + BigInt(`0x${part}`),
    0n,
  )
}

/** Formats an address. Returns undefined beyond the last address. */
const addressOf = (number: bigint, family: Family): string | undefined => {
  const [parts, width, separator, base] = family === 'ipv6' ? ([8, 16n, ':', 16] as const) : ([4, 8n, '.', 10] as const)
  if (number >= 1n << (BigInt(parts) * width)) return undefined
  const part = (index: number) => (number >> (BigInt(parts - 1 - index) * width)) & ((1n << width) - 1n)
  return Array.from({ length: parts }, (_, index) => part(index).toString(base)).join(separator)
}
