import type { AuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import type { EnforcementPoint } from '../authorization/evaluate/enforcement-point.ts'
import type { Identity } from '../authorization/evaluate/request-context.ts'
import { portsIn, witnessesOf } from '../preview/witnesses.ts'
import type { MeshProxy, Port } from './proxies.ts'
import { typicalClients } from './typical-clients.ts'

/**
 * Lists one request for each class of clients, ports, hosts, methods and paths that the policies distinguish at a proxy, whether or not such a client
 * exists. Returns undefined if there are too many classes, because then no conclusion holds for all requests.
 */
export const typicalRequests = (
  policies: readonly AuthorizationPolicy[],
  proxy: MeshProxy,
): Iterable<EnforcementPoint> | undefined => {
  const { hosts, methods, paths, isWhole } = witnessesOf(policies)
  const clients = typicalClients(policies, proxy)
  if (!isWhole || clients === undefined) return undefined
  const requests = portsOf(policies, proxy).flatMap(({ port, protocol }) =>
    hosts.flatMap(({ value: host }) =>
      methods.flatMap(({ value: method }) =>
        paths.map(({ value: path }) => ({ protocol, context: { port, host, method, path } })),
      ),
    ),
  )
  return pointsOf(clients, requests, proxy)
}

/** Lists the ports to check. Pods may listen on any port, so for them these are the ports that policies name, and one other. */
const portsOf = (policies: readonly AuthorizationPolicy[], { ports }: MeshProxy): readonly Port[] => {
  if (ports !== 'any') return ports
  const named = new Set(portsIn(policies))
  const other = Array.from({ length: named.size + 1 }, (_, index) => FIRST + index).find((port) => !named.has(port))
  return [...named, other ?? FIRST].map((port) => ({ port }))
}

const FIRST = 80

type Request = { readonly protocol?: 'http' | 'tcp' | undefined; readonly context: EnforcementPoint['context'] }

function* pointsOf(
  clients: readonly (Identity | undefined)[],
  requests: readonly Request[],
  { point }: MeshProxy,
): Generator<EnforcementPoint, undefined> {
  for (const identity of clients)
    for (const { context, protocol } of requests) yield point({ identity, ...context }, protocol)
}
