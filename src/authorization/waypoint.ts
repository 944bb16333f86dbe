import { at } from '../base/own-value.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import type { Waypoint } from './evaluate.ts'
import { admits, Gateway, isReady } from './gateway.ts'

type Labels = Readonly<Record<string, string>>

type Attached = {
  /** The one that takes the traffic. */
  readonly waypoint?: Waypoint
  /** Why none does, though labels name one. */
  readonly bypassed?: string
}

const WHOSE = { service: 'Services', workload: 'pods' }

/** Of Gateways that pass traffic on within the mesh. */
const MESH_CONTROLLERS = ['istio.io-mesh-controller', 'istio.io-eastwest-controller']

/**
 * The waypoint that traffic to a Service, or to a pod, passes, as istiod finds it (pilot/pkg/serviceregistry/ambient/waypoints.go): the
 * one that its labels name, else the one that those of its namespace do. `gateways` are of all namespaces.
 */
export const waypointOf = (
  { metadata: { namespace = '', labels = {} } }: Pick<KubernetesObject, 'metadata'>,
  namespaceLabels: Labels,
  gateways: readonly KubernetesObject[],
  traffic: 'service' | 'workload' = 'service',
): Attached => {
  const named = nameOf(labels, namespaceLabels)
  const isOfWaypoint = MESH_CONTROLLERS.includes(at(labels, 'gateway.istio.io/managed') ?? '')
  if (named === undefined || isOfWaypoint) return {}
  const { name, home = namespace } = named
  const title = `the waypoint ${home}/${name}`
  const found = gateways.find(({ metadata }) => metadata.namespace === home && metadata.name === name)
  if (found === undefined) return { bypassed: `${title} does not exist` }
  const gateway = Gateway.parse(found)
  const purpose = at(gateway.metadata.labels, 'istio.io/waypoint-for') ?? 'service'
  if (purpose !== traffic && purpose !== 'all')
    return { bypassed: `${title} is for ${purpose}, not for ${WHOSE[traffic]}` }
  if (!admits(gateway, namespace === home, namespaceLabels))
    return { bypassed: `${title} takes no ${WHOSE[traffic]} of the namespace ${namespace}` }
  if (!isReady(gateway)) return { bypassed: `${title} is not ready: Istio has given it no address` }
  const serviceAccount = at(gateway.metadata.annotations, 'gateway.istio.io/service-account') ?? name
  return { waypoint: { namespace: home, name, serviceAccount } }
}

/** What the labels of an object name, else those of its namespace. */
const nameOf = (labels: Labels, namespaceLabels: Labels): { name: string; home: string | undefined } | undefined => {
  const named = [labels, namespaceLabels].find((one) => at(one, 'istio.io/use-waypoint') !== undefined) ?? {}
  const name = at(named, 'istio.io/use-waypoint')
  return name === undefined || name === 'none'
    ? undefined
    : { name, home: at(named, 'istio.io/use-waypoint-namespace') }
}
