import { ownValue } from '../../platform/base/own-value.ts'

/** Enrols a pod or a namespace in the mesh (istio.io/latest/docs/ambient/usage/add-workloads). */
export const ENROLMENT_LABEL = 'istio.io/dataplane-mode'

/** Tells if labels put their object on the mesh. */
export const areEnrolling = (labels: Readonly<Record<string, string>> | undefined): boolean =>
  ownValue(labels, ENROLMENT_LABEL) === 'ambient'

/** Names the waypoint of a Service's or a pod's requests (istio.io/latest/docs/ambient/usage/waypoint). */
export const USE_WAYPOINT_LABEL = 'istio.io/use-waypoint'

/** Names the waypoint's namespace, if it is another one. */
export const USE_WAYPOINT_NAMESPACE_LABEL = `${USE_WAYPOINT_LABEL}-namespace`

/** The labels of pods and Services that Istio reads. Each has the values that neither take them off the mesh nor let requests bypass their waypoint. */
export const MESH_LABELS: ReadonlyMap<string, RegExp> = new Map([
  [ENROLMENT_LABEL, /^ambient$/],
  [USE_WAYPOINT_LABEL, /^(?!none$)/],
  [USE_WAYPOINT_NAMESPACE_LABEL, /^/],
  ['istio.io/ingress-use-waypoint', /^/],
])
