import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

type Condition = {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** The conditions that an object is to have by one field manager of Istio, none of which it has otherwise. */
export type ConditionSet = { readonly manager: string; readonly conditions: readonly Condition[] }

const WAYPOINT = 'istio.io/use-waypoint'

/**
 * Derives what istiod says in the status of a policy or a Service (pilot/pkg/serviceregistry/ambient): whether a ztunnel or a waypoint takes
 * it. `objects` are all of the cluster.
 */
export const demoConditions = (object: KubernetesObject, objects: readonly KubernetesObject[]): ConditionSet[] => {
  if (object.kind === 'Service') return [{ manager: 'istio-ambient-service', conditions: ofService(object, objects) }]
  if (object.kind !== 'AuthorizationPolicy') return []
  const targets = targetsOf(object)
  return targets.length === 0
    ? [{ manager: 'istio-ambient-ztunnel-policy', conditions: [ofPods(object)] }]
    : [{ manager: 'istio-ambient-waypoint-policy', conditions: [ofTargets(object, targets, objects)] }]
}

type Target = { readonly kind: string; readonly name: string }

const targetsOf = ({ spec = {} }: KubernetesObject): Target[] => {
  const { targetRefs = [], targetRef } = spec as { targetRefs?: Target[]; targetRef?: Target }
  return targetRefs.length === 0 && targetRef ? [targetRef] : targetRefs
}

const ofPods = ({ spec = {}, metadata }: KubernetesObject): Condition => {
  const type = 'ZtunnelAccepted'
  const { action = 'ALLOW' } = spec as { action?: string }
  const unsupported = { type, status: 'False', reason: 'UnsupportedValue' } as const
  if (metadata.annotations?.['istio.io/dry-run'] === 'true')
    return { ...unsupported, message: 'ztunnel does not support dry runs' }
  return action === 'ALLOW' || action === 'DENY'
    ? { type, status: 'True', reason: 'Accepted', message: 'attached to ztunnel' }
    : { ...unsupported, message: `ztunnel does not support the ${action} action` }
}

type Bound = Omit<Condition, 'type' | 'status'> & { readonly isBound: boolean; readonly ancestor: string }

const ofTargets = (
  { metadata }: KubernetesObject,
  targets: readonly Target[],
  objects: readonly KubernetesObject[],
): Condition => {
  const type = 'WaypointAccepted'
  const found = targets.map((target) => boundOf(target, metadata.namespace ?? '', objects))
  const [first] = found
  if (found.length === 1 && first)
    return { type, status: first.isBound ? 'True' : 'False', reason: first.reason, message: first.message }
  const left = found.filter(({ isBound }) => !isBound).map(({ ancestor }) => ancestor)
  const message = left.length === 0 ? '' : `Invalid targetRefs: ${left.join(', ')}`
  if (left.length === found.length) return { type, status: 'False', reason: 'Invalid', message }
  return { type, status: 'True', reason: left.length === 0 ? 'Accepted' : 'PartiallyInvalid', message }
}

const boundOf = ({ kind, name }: Target, namespace: string, objects: readonly KubernetesObject[]): Bound => {
  const key = `${namespace}/${name}`
  const ancestor = `${kind}:${key}`
  const accepted = (to: string): Bound => ({ ancestor, isBound: true, reason: 'Accepted', message: `bound to ${to}` })
  const missing = (reason: string, message: string): Bound => ({ ancestor, isBound: false, reason, message })
  if (kind === 'GatewayClass') {
    const root = rootNamespace(objects)
    return namespace === root
      ? accepted(name)
      : missing(
          'Invalid',
          `AuthorizationPolicy must be in the root namespace \`${root}\` when referencing a GatewayClass`,
        )
  }
  if (kind === 'Gateway') return hasAddress(key, objects) ? accepted(key) : missing('TargetNotFound', 'not bound')
  const service = objects.find(
    ({ kind: other, metadata }) => other === kind && metadata.name === name && metadata.namespace === namespace,
  )
  if (service === undefined) return missing('TargetNotFound', `${kind} ${key} was not found`)
  const waypoint = waypointOf(service, objects)
  return waypoint !== undefined && hasAddress(waypoint, objects)
    ? accepted(waypoint)
    : missing('AncestorNotBound', `${kind} ${key} is not bound to a waypoint`)
}

const ofService = (service: KubernetesObject, objects: readonly KubernetesObject[]): Condition[] => {
  const type = 'istio.io/WaypointBound'
  const waypoint = waypointOf(service, objects)
  if (waypoint === undefined) return []
  return hasAddress(waypoint, objects)
    ? [
        {
          ...{ type, status: 'True', reason: 'WaypointAccepted' },
          message: `Successfully attached to waypoint ${waypoint}`,
        },
      ]
    : [{ type, status: 'False', reason: 'WaypointIsNotReady', message: `waypoint "${waypoint}" is not ready` }]
}

/** The waypoint that the labels of a Service, else those of its namespace, name. */
const waypointOf = ({ metadata }: KubernetesObject, objects: readonly KubernetesObject[]): string | undefined => {
  const { namespace = '', labels = {} } = metadata
  if (labels['gateway.istio.io/managed'] !== undefined) return undefined
  const home = objects.find(({ kind, metadata: { name } }) => kind === 'Namespace' && name === namespace)
  const naming = [labels, home?.metadata.labels ?? {}].find((one) => one[WAYPOINT] !== undefined) ?? {}
  const name = naming[WAYPOINT]
  return name === undefined || name === 'none'
    ? undefined
    : `${naming['istio.io/use-waypoint-namespace'] ?? namespace}/${name}`
}

const hasAddress = (key: string, objects: readonly KubernetesObject[]): boolean =>
  objects.some(({ kind, metadata, status }) => {
    const { addresses = [] } = (status ?? {}) as { addresses?: unknown[] }
    return kind === 'Gateway' && `${metadata.namespace}/${metadata.name}` === key && addresses.length > 0
  })

/** The root namespace of Istio's own config. */
const rootNamespace = (objects: readonly KubernetesObject[]): string => {
  const isConfig = ({ kind, metadata: { name, namespace } }: KubernetesObject) =>
    kind === 'ConfigMap' && name === 'istio' && namespace === 'istio-system'
  const { mesh = '' } = objects.find(isConfig)?.data ?? {}
  return /^\s*rootNamespace:\s*"?([-a-z0-9]+)/m.exec(mesh)?.[1] ?? 'istio-system'
}
