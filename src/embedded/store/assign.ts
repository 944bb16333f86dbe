import { at, equal, type Json, type JsonMap, listOf, mapOf, withAt } from '../../platform/base/json.ts'
import type { Kind } from '../kinds/kind.ts'
import { podStatus, stateOf } from './pod-states.ts'

type Assign = (object: JsonMap, previous: JsonMap | undefined, serial: () => number) => JsonMap

const address = (network: string, serial: number): string => `${network}.${(serial >> 8) & 255}.${serial & 255}`

const hasAddress = ({ type }: JsonMap): boolean => type !== 'ExternalName'
const isBalanced = ({ type }: JsonMap): boolean => type === 'LoadBalancer'
const isExposed = ({ type }: JsonMap): boolean => type === 'NodePort' || type === 'LoadBalancer'

/** The fields that not all Services have, and those that have them. */
const fieldsOf: Readonly<Record<string, (spec: JsonMap) => boolean>> = {
  clusterIP: hasAddress,
  clusterIPs: hasAddress,
  ipFamilies: hasAddress,
  ipFamilyPolicy: hasAddress,
  allocateLoadBalancerNodePorts: isBalanced,
  loadBalancerClass: isBalanced,
  externalTrafficPolicy: (spec) => isExposed(spec) || (hasAddress(spec) && listOf(spec.externalIPs).length > 0),
}

const nodePorts = ({ ports }: JsonMap): Json[] => listOf(ports).map((port) => at(port, 'nodePort') ?? null)

/** A Service of another type than before loses what only that type has, unless the writer has changed it. */
const retyped = (spec: JsonMap, old: JsonMap): JsonMap => {
  const lost = Object.entries(fieldsOf).filter(
    ([key, has]) => has(old) && !has(spec) && equal(spec[key] ?? null, old[key] ?? null),
  )
  const rest = lost.reduce((kept, [key]) => withAt(kept, [key], undefined), spec)
  if (!isExposed(old) || isExposed(spec) || !equal(nodePorts(spec), nodePorts(old))) return rest
  return { ...rest, ports: listOf(spec.ports).map((port) => withAt(mapOf(port), ['nodePort'], undefined)) }
}

/** A Service keeps its addresses; a new one gets some. */
const service: Assign = (object, previous, serial) => {
  const old = mapOf(previous?.spec)
  const spec = retyped(mapOf(object.spec), old)
  if (!hasAddress(spec)) return { ...object, spec }
  const ip = spec.clusterIP ?? old.clusterIP ?? address('10.96', serial())
  const given = {
    clusterIP: ip,
    clusterIPs: old.clusterIPs ?? [ip],
    ipFamilies: old.ipFamilies ?? ['IPv4'],
    ipFamilyPolicy: old.ipFamilyPolicy ?? 'SingleStack',
  }
  const portOf = (port: JsonMap): JsonMap => {
    const known = listOf(old.ports).find(
      (each) => at(each, 'port') === port.port && at(each, 'protocol') === port.protocol,
    )
    return { ...port, nodePort: port.nodePort ?? at(known, 'nodePort') ?? 30000 + serial() }
  }
  const ports = isExposed(spec) ? { ports: listOf(spec.ports).map((port) => portOf(mapOf(port))) } : {}
  return { ...object, spec: { ...given, ...spec, ...ports }, status: object.status ?? { loadBalancer: {} } }
}

const namespace: Assign = (object, previous) =>
  previous ? object : { ...withAt(object, ['spec', 'finalizers'], ['kubernetes']), status: { phase: 'Active' } }

/** A pod is running and ready from the start, unless its annotation says otherwise: nothing here runs containers. */
const pod: Assign = (object, previous, serial) => {
  const state = stateOf(object)
  if (previous && state === stateOf(previous)) return object
  const status = podStatus(object, String(at(previous, 'status', 'podIP') ?? address('10.244', serial())))
  const node = state === 'pending' ? {} : { nodeName: 'node' }
  const account = { serviceAccount: 'default', serviceAccountName: 'default' }
  const assigned = { ...object, spec: { ...account, ...node, ...mapOf(object.spec) }, status }
  if (state !== 'terminating') return assigned
  const now = at(object, 'metadata', 'creationTimestamp')
  return {
    ...assigned,
    metadata: { deletionTimestamp: now, deletionGracePeriodSeconds: 30, ...mapOf(object.metadata) },
  }
}

const byKind: Readonly<Record<string, Assign>> = { Service: service, Namespace: namespace, Pod: pod }

/** Assigns what the cluster gives an object and nobody owns: addresses, a node, a phase. */
export const assigned = (object: JsonMap, kind: Kind, previous: JsonMap | undefined, serial: () => number): JsonMap =>
  byKind[kind.kind]?.(object, previous, serial) ?? object
