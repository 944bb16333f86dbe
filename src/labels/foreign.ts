import { ENROLMENT_LABEL } from '../mesh/names.ts'

/** What a mesh asks of pods and Services; a value that would take them off it, or past its waypoint, is none of these. */
const MESH: ReadonlyMap<string, RegExp> = new Map([
  [ENROLMENT_LABEL, /^ambient$/],
  ['istio.io/use-waypoint', /^(?!none$)/],
  ['istio.io/use-waypoint-namespace', /^/],
  ['istio.io/ingress-use-waypoint', /^/],
])

/** A coordinator hands on the labels of its own mesh. Its name may be an alias here, so any cluster may be named. */
const CLUSTER: ReadonlyMap<string, RegExp> = new Map([...MESH, ['app.kubernetes.io/part-of', /^/]])

/** The databag keys that carry labels: who may ask for which. */
const FOREIGN = {
  labels: { known: MESH, whose: 'a beacon', what: 'labels of its mesh' },
  worker_labels: { known: CLUSTER, whose: 'a coordinator', what: 'labels of its cluster and its mesh' },
}

/** The databag key in which another application asks for labels. */
export type ForeignKey = keyof typeof FOREIGN

/**
 * Why a label that another application asks for is not taken, or undefined when it is one that its protocol is for. Any other could move
 * pods to another Service, out of a selector or off the mesh.
 */
export const foreignProblem = (from: ForeignKey, key: string, value: unknown): string | undefined => {
  const { known, whose, what } = FOREIGN[from]
  const values = known.get(key)
  if (values === undefined) return `${whose} may only ask for ${what}`
  return values.test(String(value)) ? undefined : `${whose} may not ask for the value ${String(value).slice(0, 63)}`
}
