import { USE_WAYPOINT_LABEL, waypointName } from '../../istio/names.ts'
import type { ApplicationView } from '../applications.ts'

/** The name of the waypoint that a beacon runs, or that the labels of an application name; undefined without one. */
export const waypointOf = ({
  namespace,
  application,
  config,
  labels,
}: Pick<ApplicationView, 'namespace' | 'application' | 'config' | 'labels'>): string | undefined => {
  if (config.mesh) return config.mesh.waypoint === false ? undefined : waypointName(namespace, application)
  return labels[USE_WAYPOINT_LABEL]
}
