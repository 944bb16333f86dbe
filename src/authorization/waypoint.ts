import { ownValue } from '../base/own-value.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import type { Waypoint } from './evaluate.ts'
import { admits, Gateway, hasAddress } from './gateway.ts'

type Labels = Readonly<Record<string, string>>

export type WaypointResult = {
  /** The one that takes the traffic. */
  readonly waypoint?: Waypoint
  /** The reason why no waypoint is used, though labels name one. */
  readonly bypassed?: string
  /** The reason why it is not known if a waypoint is used. */
  readonly doubt?: string | undefined
}

/** The GatewayClasses of the cluster. */
export type GatewayClasses = readonly KubernetesObject[] | 'unreadable'

const WHOSE = { service: 'Services', workload: 'pods' }

/** Of Gateways that pass traffic on within the mesh. */
const MESH_CONTROLLERS = ['istio.io-mesh-controller', 'istio.io-eastwest-controller']

/**
 * Finds the waypoint of a Service or a pod as istiod does (pilot/pkg/serviceregistry/ambient/waypoints.go). Its own labels precede
 * those of its namespace; `gateways` are of all namespaces.
 */
export const findWaypoint = (
  { metadata: { namespace = '', labels = {} } }: Pick<KubernetesObject, 'metadata'>,
  namespaceLabels: Labels,
  gateways: readonly KubernetesObject[],
  traffic: 'service' | 'workload' = 'service',
  gatewayClasses: GatewayClasses = [],
): WaypointResult => {
  const named = readWaypointName(labels, namespaceLabels)
  const isOfWaypoint = MESH_CONTROLLERS.includes(ownValue(labels, 'gateway.istio.io/managed') ?? '')
  if (named === undefined || isOfWaypoint) return {}
  const { name, home = namespace } = named
  const title = `the waypoint ${home}/${name}`
  const found = gateways.find(({ metadata }) => metadata.namespace === home && metadata.name === name)
  if (found === undefined) return { bypassed: `${title} does not exist` }
  const gateway = Gateway.parse(found)
  const purpose = findPurpose(gateway, gatewayClasses)
  const doubt = purpose === undefined ? { doubt: `its GatewayClass says what ${title} is for, and cannot be read` } : {}
  if (purpose !== undefined && purpose !== traffic && purpose !== 'all')
    return { bypassed: `${title} is for ${purpose}, not for ${WHOSE[traffic]}` }
  if (!admits(gateway, namespace === home, namespaceLabels))
    return { bypassed: `${title} takes no ${WHOSE[traffic]} of the namespace ${namespace}` }
  if (!hasAddress(gateway)) return { bypassed: `${title} is not ready: Istio has given it no address` }
  const serviceAccount = ownValue(gateway.metadata.annotations, 'gateway.istio.io/service-account') ?? name
  return { ...doubt, waypoint: { namespace: home, name, serviceAccount } }
}

const PURPOSE = 'istio.io/waypoint-for'

/** Finds the traffic that a waypoint takes, by its own label, else by that of its class; undefined where that cannot be read. */
const findPurpose = (
  { metadata: { labels }, spec: { gatewayClassName } }: Gateway,
  classes: GatewayClasses,
): string | undefined => {
  const own = ownValue(labels, PURPOSE)
  if (own !== undefined || classes === 'unreadable') return own
  const named = classes.find(({ metadata: { name } }) => name === gatewayClassName)
  return ownValue(named?.metadata.labels, PURPOSE) ?? 'service'
}

/** Reads the waypoint from the object's labels, else from those of its namespace. */
const readWaypointName = (
  labels: Labels,
  namespaceLabels: Labels,
): { name: string; home: string | undefined } | undefined => {
  const named = [labels, namespaceLabels].find((one) => ownValue(one, 'istio.io/use-waypoint') !== undefined) ?? {}
  const name = ownValue(named, 'istio.io/use-waypoint')
  return name === undefined || name === 'none'
    ? undefined
    : { name, home: ownValue(named, 'istio.io/use-waypoint-namespace') }
}
