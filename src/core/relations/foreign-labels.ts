import { MESH_LABELS } from './enrolment-labels.ts'

/** Policies of a cluster select pods of their own namespace by it. */
const PART_OF = 'app.kubernetes.io/part-of'

/** A coordinator hands on the labels of its own mesh. */
const CLUSTER: ReadonlyMap<string, RegExp> = new Map([...MESH_LABELS, [PART_OF, /^/]])

/** The keys of all labels that other applications may ask for. */
export const FOREIGN_KEYS: readonly string[] = [...CLUSTER.keys()]

/** The keys of the labels of a mesh. */
export const MESH_KEYS: readonly string[] = [...MESH_LABELS.keys()]

/** The databag keys that carry labels, and the labels each may request. */
const FOREIGN = {
  labels: { known: MESH_LABELS, whose: 'a beacon', what: 'labels of its mesh' },
  worker_labels: { known: CLUSTER, whose: 'a coordinator', what: 'labels of its cluster and its mesh' },
}

/** The databag key in which another application asks for labels. */
export type ForeignKey = keyof typeof FOREIGN

/**
 * Returns the reason why a label requested by another application is refused, if any. Any other label could move pods to another
 * Service, out of a selector, into another cluster's policies or off the mesh. `cluster` is the only one it may name.
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

/** Tells if a relation may have asked `application` for the label. A coordinator is of its own cluster by its config. */
export const mayBeForeign = (application: string, key: string, value: string): boolean =>
  foreignProblem('worker_labels', key, value, value === application ? undefined : value) === undefined
