import { BlockList, isIP } from 'node:net'
import { matchesPath } from '../../../src/ask/authorization/evaluate/path.ts'
import { matchesGlob, matchesText } from '../../../src/ask/authorization/evaluate/text.ts'
import type { Query } from '../../../src/ask/authorization/query.ts'
import { sideName } from '../../../src/ask/authorization/side.ts'
import type { AccessChange } from '../../../src/ask/preview/difference/describe-changes.ts'

/** What changes of access say about a request: the answers before and after, which are the same in all that are about it. */
export const foretold = (access: readonly AccessChange[], query: Query): string[][] =>
  [...new Set(access.filter((one) => isAbout(one, query)).map(({ before, after }) => `${before} ${after}`))].map(
    (said) => said.split(' '),
  )

const isAbout = (one: AccessChange, { from, address, to, via, port, method, path, host }: Query): boolean =>
  one.to === sideName(to) &&
  one.via === via &&
  // a question with a method and a path is about HTTP
  one.carries === undefined &&
  (one.port === undefined ? !(one.notPorts ?? []).includes(port) : one.port === port) &&
  (from ? isClient(one, sideName(from)) : isOutside(one, address ?? '')) &&
  isMeant(one.method, one.notMethods, method, matchesText) &&
  isMeant(one.path, one.notPaths, path, matchesPath) &&
  isMeant(one.host, one.notHosts, host, matchesText)

const isClient = ({ from, clients = [], notClients = [] }: AccessChange, name: string): boolean =>
  from === name ||
  (!notClients.includes(name) && (clients.includes(name) || clients.includes(`${name.replace(/\/.*/, '')}/*`)))

const isOutside = ({ from, clients, address, notAddresses = [] }: AccessChange, client: string): boolean =>
  from === undefined &&
  clients === undefined &&
  (address === undefined || isIn(address, client)) &&
  !notAddresses.some((block) => isIn(block, client))

const isIn = (block: string, address: string): boolean => {
  const [network = '', bits] = block.split('/')
  const list = new BlockList()
  list.addSubnet(network, Number(bits), isIP(network) === 6 ? 'ipv6' : 'ipv4')
  return list.check(address)
}

type Matches = (pattern: string, value: string) => boolean

const isMeant = (
  label: string | undefined,
  not: readonly string[] = [],
  value: string | undefined,
  matches: Matches,
): boolean => {
  const isMatch = (label: string) =>
    label.split(' & ').every((pattern) => (/[^*{]\*[^*}]/.test(pattern) ? matchesGlob : matches)(pattern, value ?? ''))
  return (label === undefined || isMatch(label)) && !not.some(isMatch)
}
