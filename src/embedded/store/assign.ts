import { at, type JsonMap, listOf, mapOf, withAt } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import { podStatus, stateOf } from './pod-states.ts'

type Assign = (object: JsonMap, previous: JsonMap | undefined, serial: () => number) => JsonMap

const address = (network: string, serial: number): string => `${network}.${(serial >> 8) & 255}.${serial & 255}`

/** A Service keeps its addresses; a new one gets some. */
const service: Assign = (object, previous, serial) => {
  const spec = mapOf(object.spec)
  const old = mapOf(previous?.spec)
  if (spec.type === 'ExternalName') return object
  const ip = spec.clusterIP ?? old.clusterIP ?? address('10.96', serial())
  const given = {
    clusterIP: ip,
    clusterIPs: old.clusterIPs ?? [ip],
    ipFamilies: old.ipFamilies ?? ['IPv4'],
    ipFamilyPolicy: old.ipFamilyPolicy ?? 'SingleStack',
  }
  const exposed = spec.type === 'NodePort' || spec.type === 'LoadBalancer'
  const portOf = (port: JsonMap): JsonMap => {
    const known = listOf(old.ports).find(
      (each) => at(each, 'port') === port.port && at(each, 'protocol') === port.protocol,
    )
    return { ...port, nodePort: port.nodePort ?? at(known, 'nodePort') ?? 30000 + serial() }
  }
  const ports = exposed ? { ports: listOf(spec.ports).map((port) => portOf(mapOf(port))) } : {}
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
