import type { KubernetesObject } from '../kubernetes/objects.ts'
import type { Waypoint } from '../policies/decide.ts'
import { at } from '../record.ts'
import { admits, Gateway, programmed } from './gateway.ts'

type Labels = Readonly<Record<string, string>>

type Attached = {
  /** The one that takes the Service's traffic. */
  readonly waypoint?: Waypoint
  /** Why none does, though labels name one. */
  readonly bypassed?: string
  /** What else is to be known about it. */
  readonly note?: string
}

/**
 * The waypoint that traffic to a Service passes, as istiod finds it (pilot/pkg/serviceregistry/kube/controller/ambient/waypoints.go): the
 * one that the labels of the Service name, else the one that those of its namespace do. `gateways` are of all namespaces.
 */
export const waypointOf = (
  { metadata: { namespace = '', labels = {} } }: KubernetesObject,
  namespaceLabels: Labels,
  gateways: readonly KubernetesObject[],
): Attached => {
  const named = [labels, namespaceLabels].find((one) => at(one, 'istio.io/use-waypoint') !== undefined) ?? {}
  const name = at(named, 'istio.io/use-waypoint')
  const isOfWaypoint = at(labels, 'gateway.istio.io/managed') === 'istio.io-mesh-controller'
  if (name === undefined || name === 'none' || isOfWaypoint) return {}
  const home = at(named, 'istio.io/use-waypoint-namespace') ?? namespace
  const title = `the waypoint ${home}/${name}`
  const found = gateways.find(({ metadata }) => metadata.namespace === home && metadata.name === name)
  if (found === undefined) return { bypassed: `${title} does not exist` }
  const gateway = Gateway.parse(found)
  const purpose = at(gateway.metadata.labels, 'istio.io/waypoint-for') ?? 'service'
  if (purpose !== 'service' && purpose !== 'all') return { bypassed: `${title} is for ${purpose}, not for Services` }
  if (!admits(gateway, namespace === home, namespaceLabels))
    return { bypassed: `${title} takes no Services of the namespace ${namespace}` }
  if (programmed(gateway) === 'False') return { bypassed: `${title} is not programmed` }
  const serviceAccount = at(gateway.metadata.annotations, 'gateway.istio.io/service-account') ?? name
  return {
    waypoint: { namespace: home, name, serviceAccount },
    ...(programmed(gateway) === 'Unknown' && { note: `nobody says whether ${title} is programmed: it is taken to be` }),
  }
}
