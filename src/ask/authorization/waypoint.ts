import { USE_WAYPOINT_LABEL } from '../../core/relations/mesh-labels.ts'
import { gatewayAccount, namedWaypoint } from '../../mesh/istio/names.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { perObject } from '../../platform/base/per-object.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { Canary, Waypoint } from './evaluate.ts'
import { admits, Gateway, hasAddress } from './gateway.ts'

type Labels = Readonly<Record<string, string>>

export type WaypointResult = {
  /** The waypoint that takes the traffic. */
  readonly waypoint?: Waypoint
  /** A second waypoint, to which Istio sends a share of the connections. */
  readonly canary?: Canary
  /** The reason why no waypoint is used although labels name one. */
  readonly bypassed?: string
  /** The reason why it is unknown if the waypoint is used. */
  readonly doubt?: string | undefined
}

/** Lists the waypoints that labels of Services or of their namespace name, each once. */
export const waypointsOf = (
  namespace: string,
  home: KubernetesObject | undefined,
  services: readonly KubernetesObject[],
): { readonly namespace: string; readonly name: string }[] => {
  const named = [home, ...services].flatMap((one) => namedWaypoint(one?.metadata.labels, namespace) ?? [])
  return [...new Map(named.map((one) => [`${one.namespace}/${one.name}`, one])).values()]
}

/** The GatewayClasses of the cluster. */
export type GatewayClasses = readonly KubernetesObject[] | 'unreadable'

const WHOSE = { service: 'Services', workload: 'pods' }

/** Controllers of Gateways that forward traffic within the mesh. */
const MESH_CONTROLLERS = ['istio.io-mesh-controller', 'istio.io-eastwest-controller']

/**
 * Finds the waypoint of a Service or a pod as istiod does (pilot/pkg/serviceregistry/ambient/waypoints.go). The object's own labels win over those of its
 * namespace, `home`. `gateways` are those of all namespaces. Since Istio 1.31 a Service may have a second waypoint.
 */
export const findWaypoint = (
  { metadata: { namespace = '', labels = {}, annotations = {} } }: Pick<KubernetesObject, 'metadata'>,
  home: Pick<KubernetesObject['metadata'], 'labels' | 'annotations'>,
  gateways: readonly KubernetesObject[],
  traffic: 'service' | 'workload' = 'service',
  gatewayClasses: GatewayClasses = [],
): WaypointResult => {
  const scope = { namespace, namespaceLabels: home.labels ?? {}, gateways, traffic, gatewayClasses }
  const levels = [{ labels, annotations }, home]
  const named = levels.findIndex((one) => ownValue(one.labels, USE) !== undefined)
  const isOfWaypoint = MESH_CONTROLLERS.includes(ownValue(labels, 'gateway.istio.io/managed') ?? '')
  const wanted = namedWaypoint(levels[named]?.labels, namespace)
  if (wanted === undefined || isOfWaypoint) return {}
  const primary = findNamed(wanted, scope)
  if (primary.waypoint === undefined || traffic === 'workload') return primary
  // the namespace can name a canary only if it also names the waypoint
  return { ...primary, ...findCanary(named === 0 ? [levels[0] ?? {}] : levels, primary.waypoint, scope) }
}

const USE = USE_WAYPOINT_LABEL
const CANARY = `${USE}-canary`

type Level = Pick<KubernetesObject['metadata'], 'labels' | 'annotations'>

/** Finds the canary of a Service. It takes nothing if it does not exist, is not for Services, is the primary waypoint, or has an invalid weight. */
const findCanary = (
  levels: readonly Level[],
  primary: Waypoint,
  scope: Scope,
): Pick<WaypointResult, 'canary' | 'doubt'> => {
  const labels = levels.find((one) => ownValue(one.labels, CANARY) !== undefined)?.labels
  const wanted = namedWaypoint(labels, scope.namespace, CANARY)
  if (wanted === undefined || wanted.name === '') return {}
  const { waypoint, doubt } = findNamed(wanted, scope)
  const weights = levels.map(({ annotations }) => ownValue(annotations, `${CANARY}-weight`))
  const text = weights.find((one) => one !== undefined) ?? '0'
  const weight = /^[+-]?\d+$/.test(text) ? Number(text) : -1
  const isSame = waypoint?.namespace === primary.namespace && waypoint.name === primary.name
  if (waypoint === undefined || isSame || weight <= 0 || weight > 100) return {}
  return { canary: { ...waypoint, weight }, ...(doubt !== undefined && { doubt }) }
}

type Scope = {
  readonly namespace: string
  readonly namespaceLabels: Labels
  readonly gateways: readonly KubernetesObject[]
  readonly traffic: 'service' | 'workload'
  readonly gatewayClasses: GatewayClasses
}

/** Finds a waypoint by its name and namespace. */
const findNamed = (
  { name, namespace: home }: { readonly name: string; readonly namespace: string },
  { namespace, namespaceLabels, gateways, traffic, gatewayClasses }: Scope,
): WaypointResult => {
  const title = `the waypoint ${home}/${name}`
  const found = gateways.find(({ metadata }) => metadata.namespace === home && metadata.name === name)
  if (found === undefined) return { bypassed: `${title} does not exist` }
  const gateway = gatewayIn(found)
  const purpose = findPurpose(gateway, gatewayClasses)
  const doubt = purpose === undefined ? { doubt: `its GatewayClass says what ${title} is for, and cannot be read` } : {}
  if (purpose !== undefined && purpose !== traffic && purpose !== 'all')
    return { bypassed: `${title} is for ${purpose}, not for ${WHOSE[traffic]}` }
  if (!admits(gateway, namespace === home, namespaceLabels))
    return { bypassed: `${title} takes no ${WHOSE[traffic]} of the namespace ${namespace}` }
  if (!hasAddress(gateway)) return { bypassed: `${title} is not ready: Istio has given it no address` }
  const serviceAccount = gatewayAccount(gateway.metadata.annotations, name)
  return { ...doubt, waypoint: { namespace: home, name, serviceAccount } }
}

const gatewayIn = perObject((object: KubernetesObject): Gateway => Gateway.parse(object))

const PURPOSE = 'istio.io/waypoint-for'

/** Finds the traffic that a waypoint takes, by its own label, else by that of its class. Returns undefined if the class cannot be read. */
const findPurpose = (
  { metadata: { labels }, spec: { gatewayClassName } }: Gateway,
  classes: GatewayClasses,
): string | undefined => {
  const own = ownValue(labels, PURPOSE)
  if (own !== undefined || classes === 'unreadable') return own
  const named = classes.find(({ metadata: { name } }) => name === gatewayClassName)
  return ownValue(named?.metadata.labels, PURPOSE) ?? 'service'
}
