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

/** The label by which policies of a cluster select pods of their own namespace. */
const PART_OF = 'app.kubernetes.io/part-of'

/** The labels that a coordinator may request. It hands on the labels of its own mesh. */
const CLUSTER: ReadonlyMap<string, RegExp> = new Map([...MESH_LABELS, [PART_OF, /^/]])

/** The keys of all labels that other applications may request. */
export const FOREIGN_KEYS: readonly string[] = [...CLUSTER.keys()]

/** The keys of mesh labels. */
export const MESH_KEYS: readonly string[] = [...MESH_LABELS.keys()]

/** The databag keys that carry labels, and the labels that each may request. */
const FOREIGN = {
  labels: { known: MESH_LABELS, whose: 'a beacon', what: 'labels of its mesh' },
  worker_labels: { known: CLUSTER, whose: 'a coordinator', what: 'labels of its cluster and its mesh' },
}

/** The databag key in which another application requests labels. */
export type ForeignKey = keyof typeof FOREIGN

/**
 * Returns the reason why a label requested by another application is refused. Undefined if it is accepted. Other labels could move pods to
 * another Service, out of a selector, into another cluster's policies or off the mesh. `cluster` is the only cluster that may be named.
 */
export const foreignProblem = (
  from: ForeignKey,
  key: string,
  value: unknown,
  cluster?: string | undefined,
): string | undefined => {
  const { known, whose, what } = FOREIGN[from]
  const values = known.get(key)
  if (values === undefined) return `${whose} may only ask for ${what}`
  if (key === PART_OF && value !== cluster) return `${whose} may only name itself, to workers of its own namespace`
  return values.test(String(value)) ? undefined : `${whose} may not ask for the value ${String(value).slice(0, 63)}`
}

/** Tells if a relation may have requested the label for `application`. A coordinator joins its own cluster by its config. */
export const mayBeForeign = (application: string, key: string, value: string): boolean =>
  foreignProblem('worker_labels', key, value, value === application ? undefined : value) === undefined
