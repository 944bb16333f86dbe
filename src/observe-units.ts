import { isSayingUnits } from './cluster/surroundings.ts'
import type { Place } from './kubernetes/apply-labels.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import type { KubernetesObject } from './kubernetes/objects.ts'
import { livePods } from './kubernetes/pods.ts'
import type { State, Subject, Target } from './state.ts'
import { deployedAs } from './units.ts'
import { ownWorkload } from './workload/config.ts'
import { observePods, type Pod, type Units } from './workload/units.ts'

/** Where the application's workload is found, or is not. */
type Workload = { target: Target; places: readonly Place[] | undefined }

/** The units as their pods are now, where the application's own workload, its cluster or its status depends on them. */
export const observeUnits = async (
  kubernetes: Kubernetes,
  { application }: Subject,
  state: State,
  workload: Workload | undefined,
): Promise<Units> => {
  const deployed = deployedAs(application, state)
  const units = isUndeployed(state) ? observePods(state.units, { live: [] }, deployed) : state.units
  if (!isAsked(state, units) || workload === undefined || workload.target.kind === 'Service') return units
  // a workload that could not be made has replaced nothing
  if (workload.places === undefined && !isSayingUnits(state)) return units
  const live = await podsOf(kubernetes, workload)
  return observePods(units, { live: live.map(podIn) }, deployed)
}

const isOwn = ({ config }: State): boolean => ownWorkload(config) !== undefined

/** The workload was the application's own, and goes. */
const isUndeployed = (state: State): boolean =>
  !isOwn(state) && (state.owned ?? []).some((kind) => kind === 'Deployment' || kind === 'StatefulSet')

/** What a unit says of itself counts for as long as its pod is there. */
const isAsked = (state: State, { present }: Units): boolean =>
  isOwn(state) || isSayingUnits(state) || Object.values(present).some(({ report }) => report !== undefined)

const podsOf = async (kubernetes: Kubernetes, { target, places = [] }: Workload): Promise<KubernetesObject[]> => {
  const objects = places.map(({ object }) => object)
  if (target.on === 'pods') return objects
  return objects[0] ? await livePods(kubernetes, objects[0]) : []
}

const podIn = ({ metadata: { name, uid = '', creationTimestamp } }: KubernetesObject): Pod => ({
  name,
  uid,
  ...(typeof creationTimestamp === 'string' && { created: creationTimestamp }),
})
