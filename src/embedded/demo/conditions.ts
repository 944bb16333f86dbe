import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { EmbeddedApi } from '../api/api.ts'

type Condition = {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** The conditions that an object is to have by one field manager of Istio, none of which it has otherwise. */
export type ConditionSet = { readonly manager: string; readonly conditions: readonly Condition[] }

type Find = EmbeddedApi['find']

const WAYPOINT = 'istio.io/use-waypoint'

/**
 * Derives what istiod says in the status of a policy or a Service (pilot/pkg/serviceregistry/ambient): whether a ztunnel or a waypoint takes
 * it. `find` reads the other objects that decide this.
 */
export const demoConditions = (object: KubernetesObject, find: Find): ConditionSet[] => {
  if (object.kind === 'Service') return [{ manager: 'istio-ambient-service', conditions: ofService(object, find) }]
  if (object.kind !== 'AuthorizationPolicy') return []
  const targets = targetsOf(object)
  return targets.length === 0
    ? [{ manager: 'istio-ambient-ztunnel-policy', conditions: [ofPods(object)] }]
    : [{ manager: 'istio-ambient-waypoint-policy', conditions: [ofTargets(object, targets, find)] }]
}

type Target = { readonly group?: string; readonly kind: string; readonly name: string }

const targetsOf = ({ spec = {} }: KubernetesObject): Target[] => {
  const { targetRefs = [], targetRef }: { targetRefs?: Target[]; targetRef?: Target } = spec
  return targetRefs.length === 0 && targetRef ? [targetRef] : targetRefs
}

const ofPods = ({ spec = {}, metadata }: KubernetesObject): Condition => {
  const type = 'ZtunnelAccepted'
  const { action = 'ALLOW' }: { action?: string } = spec
  const unsupported = { type, status: 'False', reason: 'UnsupportedValue' } as const
  if (metadata.annotations?.['istio.io/dry-run'] === 'true')
    return { ...unsupported, message: 'ztunnel does not support dry runs' }
  return action === 'ALLOW' || action === 'DENY'
    ? { type, status: 'True', reason: 'Accepted', message: 'attached to ztunnel' }
    : { ...unsupported, message: `ztunnel does not support the ${action} action` }
}

type Bound = Omit<Condition, 'type' | 'status'> & { readonly isBound: boolean; readonly ancestor: string }

const ofTargets = ({ metadata }: KubernetesObject, targets: readonly Target[], find: Find): Condition => {
  const type = 'WaypointAccepted'
  const found = targets.map((target) => boundOf(target, metadata.namespace ?? '', find))
  const [first] = found
  if (found.length === 1 && first)
    return { type, status: first.isBound ? 'True' : 'False', reason: first.reason, message: first.message }
  const left = found.filter(({ isBound }) => !isBound).map(({ ancestor }) => ancestor)
  const message = left.length === 0 ? '' : `Invalid targetRefs: ${left.join(', ')}`
  if (left.length === found.length) return { type, status: 'False', reason: 'Invalid', message }
  return { type, status: 'True', reason: left.length === 0 ? 'Accepted' : 'PartiallyInvalid', message }
}

const boundOf = ({ group = '', kind, name }: Target, namespace: string, find: Find): Bound => {
  const key = `${namespace}/${name}`
  const ancestor = `${kind}:${key}`
  const accepted = (to: string): Bound => ({ ancestor, isBound: true, reason: 'Accepted', message: `bound to ${to}` })
  const missing = (reason: string, message: string): Bound => ({ ancestor, isBound: false, reason, message })
  if (kind === 'GatewayClass') {
    const root = rootNamespace(find)
    return namespace === root
      ? accepted(name)
      : missing(
          'Invalid',
          `AuthorizationPolicy must be in the root namespace \`${root}\` when referencing a GatewayClass`,
        )
  }
  if (kind === 'Gateway') return hasAddress(key, find) ? accepted(key) : missing('TargetNotFound', 'not bound')
  const apiVersion = group === '' ? 'v1' : `${group}/v1`
  const service = find({ apiVersion, kind, metadata: { name, namespace } })
  if (service === undefined) return missing('TargetNotFound', `${kind} ${key} was not found`)
  const waypoint = waypointOf(service, find)
  return waypoint !== undefined && hasAddress(waypoint, find)
    ? accepted(waypoint)
    : missing('AncestorNotBound', `${kind} ${key} is not bound to a waypoint`)
}

const ofService = (service: KubernetesObject, find: Find): Condition[] => {
  const type = 'istio.io/WaypointBound'
  const waypoint = waypointOf(service, find)
  if (waypoint === undefined) return []
  return hasAddress(waypoint, find)
    ? [
        {
          ...{ type, status: 'True', reason: 'WaypointAccepted' },
          message: `Successfully attached to waypoint ${waypoint}`,
        },
      ]
    : [{ type, status: 'False', reason: 'WaypointIsNotReady', message: `waypoint "${waypoint}" is not ready` }]
}

/** The waypoint that the labels of a Service, else those of its namespace, name. */
const waypointOf = ({ metadata }: KubernetesObject, find: Find): string | undefined => {
  const { namespace = '', labels = {} } = metadata
  if (labels['gateway.istio.io/managed'] !== undefined) return undefined
  const home = find({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const naming = [labels, home?.metadata.labels ?? {}].find((one) => one[WAYPOINT] !== undefined) ?? {}
  const name = naming[WAYPOINT]
  return name === undefined || name === 'none'
    ? undefined
    : `${naming['istio.io/use-waypoint-namespace'] ?? namespace}/${name}`
}

const hasAddress = (key: string, find: Find): boolean => {
  const [namespace, name = ''] = key.split('/')
  const gateway = find({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name, namespace } })
  const { addresses = [] }: { addresses?: unknown[] } = gateway?.status ?? {}
  return addresses.length > 0
}

/** The root namespace of Istio's own config. */
const rootNamespace = (find: Find): string => {
  const metadata = { name: 'istio', namespace: 'istio-system' }
  const { mesh = '' } = find({ apiVersion: 'v1', kind: 'ConfigMap', metadata })?.data ?? {}
  return /^\s*rootNamespace:\s*"?([-a-z0-9]+)/m.exec(mesh)?.[1] ?? 'istio-system'
}
