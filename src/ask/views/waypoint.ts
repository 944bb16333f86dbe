import { USE_WAYPOINT_LABEL } from '../../core/relations/mesh-labels.ts'
import type { Config } from '../../core/state/config.ts'
import { waypointName } from '../../mesh/istio/names.ts'

/** Names the waypoint that a beacon runs, or that the labels of an application name. Returns undefined without one. */
export const waypointOf = ({
  namespace,
  application,
  config,
  labels,
}: {
  readonly namespace: string
  readonly application: string
  readonly config: Config
  readonly labels: Readonly<Record<string, string>>
}): string | undefined => {
  if (config.mesh) return config.mesh.waypoint === false ? undefined : waypointName(namespace, application)
  return labels[USE_WAYPOINT_LABEL]
}
