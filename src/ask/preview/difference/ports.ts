import {
  type AuthorizationPolicySpec,
  readAuthorizationPolicy,
  targetsOf,
} from '../../../mesh/istio/authorization-policy.ts'
import { Gateway } from '../../authorization/gateway.ts'
import { readPeerAuthentications } from '../../authorization/peer-authentications.ts'
import { allPods, isGateway } from '../../authorization/pods.ts'
import { type ServicePort, tcpPorts } from '../../authorization/protocol.ts'
import type { Side } from '../../authorization/side.ts'
import { portsIn } from '../witnesses.ts'
import { isExternalName, ownService } from './external-names.ts'
import type { ObservedTarget } from './world.ts'

/** A port to compare. With `not`, it stands for all ports except these. */
export type AskedPort = { readonly via: 'service' | 'pod'; readonly port: number; readonly not?: readonly number[] }

/**
 * Lists the ports of a target on either side: those of its Service and its containers, and those that policies of pods name. If these policies name all
 * known pod ports, one more port stands for all others. Nothing reaches the pods of a Service that selects none.
 */
export const portsOf = (to: Side, sides: readonly ObservedTarget[]): AskedPort[] => {
  const distinct = (some: readonly number[]) => [...new Set(some)].toSorted((one, other) => one - other)
  const listeners = distinct(sides.flatMap((side) => listenersOf(to, side)))
  if (listeners.length > 0) return listeners.map((port) => ({ via: 'service', port }))
  const targets = sides.flatMap((side) => servicePorts(to, side))
  const known = [
    ...sides.flatMap(containerPorts),
    ...targets.flatMap(({ port, targetPort = port }) => (typeof targetPort === 'number' ? [targetPort] : [])),
  ]
  const named = distinct(sides.flatMap(namedPorts))
  const other = known.every((port) => named.includes(port)) ? SPARE.find((port) => !named.includes(port)) : undefined
  const hasPods = sides.some(({ to: pods }) => pods !== undefined && allPods(pods).length > 0)
  return [
    ...distinct(targets.map(({ port }) => port)).map((port) => ({ via: 'service' as const, port })),
    ...(hasPods ? distinct([...known, ...named]).map((port) => ({ via: 'pod' as const, port })) : []),
    ...(other === undefined || !hasPods ? [] : [{ via: 'pod' as const, port: other, not: named }]),
  ]
}

const SPARE = Array.from({ length: 65_535 }, (_, index) => index + 1)

/** Lists the ports of the target's Service. An ExternalName Service has none, because its requests go elsewhere. */
const servicePorts = (to: Side, side: ObservedTarget): readonly ServicePort[] => {
  const service = ownService(to, side)
  return service === undefined || isExternalName(service) ? [] : tcpPorts(service)
}

const containerPorts = ({ to }: ObservedTarget): number[] =>
  (to ? allPods(to) : [])
    .flatMap(({ spec }) => spec?.containers ?? [])
    .flatMap(({ ports = [] }) => ports.flatMap(({ containerPort = [] }) => containerPort))

const namedPorts = ({ policies = [], peerAuthentications = [] }: ObservedTarget): number[] => [
  ...portsIn(
    policies.flatMap((object) => {
      const read = readAuthorizationPolicy(object)
      return 'policy' in read && !isForServices(read.policy.spec) ? [read.policy] : []
    }),
  ),
  ...readPeerAuthentications({ peerAuthentications }).peerAuthentications.flatMap(({ ports }) =>
    Object.keys(ports).map(Number),
  ),
]

/** Tells if a policy refers only to Services. Other policies may decide at pods: also those of a waypoint, which may be that of pods. */
const isForServices = (spec: AuthorizationPolicySpec): boolean => {
  const targets = targetsOf(spec)
  return targets.length > 0 && targets.every(({ kind }) => kind === 'Service')
}

/** Lists the listener ports, if the target is a Gateway. */
const listenersOf = ({ namespace, application }: Side, { to, gateways = [] }: ObservedTarget): number[] => {
  if (!to || !allPods(to).some(isGateway)) return []
  const own = gateways.find(({ metadata }) => metadata.namespace === namespace && metadata.name === application)
  return own ? Gateway.parse(own).spec.listeners.flatMap(({ port }) => port ?? []) : []
}
