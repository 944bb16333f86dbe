import type { Subject } from '../../../platform/base/subject.ts'
import { describeRefusal, isForbidden } from '../../../platform/kubernetes/api-error.ts'
import type { LabelLocation } from '../../../platform/kubernetes/apply-labels.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { listAppliers } from '../../../platform/kubernetes/field-managers.ts'
import type { LabelTarget } from '../../../platform/kubernetes/label-target.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { isOfNamesake } from '../../../platform/kubernetes/ownership-labels.ts'
import { selectedPods } from '../../../platform/kubernetes/pods.ts'
import type { Features } from '../../feature/combine.ts'
import { ownedKinds } from '../../state/owned-kinds.ts'
import type { State } from '../../state/state.ts'
import { observePods, type UnitPod, type Units } from '../../units/units.ts'
import { ownWorkload } from '../../workload/config.ts'
import { deployedAs } from '../../workload/deployed-as.ts'
import { isAvailable } from '../../workload/health.ts'
import { workloadManager } from '../../workload/objects.ts'

/** A target with the places of its labels. `places` is undefined if the target does not exist, or, with a problem, cannot be read. */
export type Found = {
  readonly target: LabelTarget
  readonly places: readonly LabelLocation[] | undefined
  readonly problem?: string
}

/** The running application: its workload and live pods. Undefined if they are not known. */
export type Running = {
  readonly workload?: KubernetesObject | undefined
  /** There is neither a workload nor a pod of its own. */
  readonly isAbsent?: true
  readonly pods?: readonly KubernetesObject[] | undefined
  /** Listed live pods that match the selector and have no controller. */
  readonly unowned?: readonly KubernetesObject[]
  /** Another owner's workload with the name of the own one. */
  readonly namesake?: KubernetesObject | undefined
  /** The reason why its pods may not be listed. */
  readonly problem?: string
  /** Pods of the namespace carry the mesh's mark of captured pods, so that a missing one means something. */
  readonly isMarking?: boolean
}

/** Observes the running application. Pods are listed if something depends on them, or if some are unavailable. With `isWhole`, all pods are listed. */
export const observeRunning = async (
  features: Features,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  found: Found | undefined,
  isWhole = false,
): Promise<Running> => {
  if (found === undefined || found.target.kind === 'Service' || found.problem !== undefined) return {}
  const objects = found.places?.map(({ object }) => object)
  // a workload that could not be created has replaced nothing
  if (objects === undefined)
    return { isAbsent: true, ...(features.dependsOnUnits(state) && !isOwn(state) && { pods: [] }) }
  if (found.target.on === 'pods') return await withMarks(features, kubernetes, subject, { pods: objects }, isWhole)
  const [workload] = objects
  if (workload === undefined) return {}
  if (isOwn(state) && !isDeployedBy(subject, workload)) return { namesake: workload }
  const isTelling = isWhole || dependsOnUnits(features, state) || !isAvailable(workload) || isAwaitingPods(state)
  const pods = isTelling ? await podsOf(kubernetes, workload, isWhole) : {}
  return await withMarks(features, kubernetes, subject, { workload, ...pods }, isWhole)
}

/** Tells if a wait for pods goes on: the next step has to see if it has ended. */
const isAwaitingPods = ({ waitingSince = {} }: State): boolean =>
  Object.keys(waitingSince).some((key) => /^Pods(OffMesh|Unlabelled) /.test(key))

/** Adds whether the mesh marks the pods that it captures. With `isWhole`, other pods of the namespace show that where these do not. */
const withMarks = async (
  { mesh }: Features,
  kubernetes: Kubernetes,
  { namespace }: Subject,
  running: Running,
  isWhole: boolean,
): Promise<Running> => {
  const own = [...(running.pods ?? []), ...(running.unowned ?? [])]
  if (own.length === 0) return running
  const isOpen = isWhole && own.some((pod) => mesh.capture(pod, { isMarking: true }).is === 'unknown')
  const others = isOpen && !own.some(mesh.isMarked) ? await kubernetes.list('Pod', namespace) : []
  return { ...running, isMarking: [...own, ...others].some(mesh.isMarked) }
}

/** Lists pods. Without permission, the units stay as they were, and the step goes on. */
const podsOf = async (
  kubernetes: Kubernetes,
  workload: KubernetesObject,
  isWhole: boolean,
): Promise<Pick<Running, 'pods' | 'unowned' | 'problem'>> => {
  try {
    return await selectedPods(kubernetes, workload, isWhole)
  } catch (error) {
    if (isForbidden(error)) return { problem: describeRefusal(error) }
    throw error
  }
}

const isDeployedBy = (subject: Subject, workload: KubernetesObject): boolean =>
  listAppliers(workload).includes(workloadManager(subject.application)) && !isOfNamesake(subject, workload)

/** Updates the units from the live pods, if something depends on units, or with `mayLead`. */
export const withUnits = (
  features: Features,
  subject: Subject,
  state: State,
  running: Running,
  mayLead = false,
): State => {
  const { workload, pods } = running
  const deployed = deployedAs(subject.application, state, workload)
  const left = isUndeployed(subject, state, running) ? observePods(state.units, { live: [] }, deployed) : state.units
  const isAsked = pods !== undefined && (mayLead || dependsOnUnits(features, { ...state, units: left }))
  const units = isAsked ? observePods(left, { live: pods.map(podIn) }, deployed) : left
  return units === state.units ? state : { ...state, units }
}

const isOwn = ({ config }: Pick<State, 'config'>): boolean => ownWorkload(config) !== undefined

/** Tells if the application's own workload is gone, or about to be removed. A kind in `owned` means only that such objects may exist. */
const isUndeployed = (subject: Subject, state: State, { workload, pods = [] }: Running): boolean =>
  !isOwn(state) &&
  ownedKinds(state.owned).some((kind) => kind === 'Deployment' || kind === 'StatefulSet') &&
  (workload === undefined ? pods.length === 0 : isDeployedBy(subject, workload))

/** Tells if anything depends on the units: published cluster data, a leader, pending data, or data of a unit. */
export const dependsOnUnits = (features: Features, state: State): boolean =>
  isOwn(state) ||
  features.dependsOnUnits(state) ||
  [state.leader, state.pending].some((part) => part !== undefined) ||
  isSpeaking(state.units)

const isSpeaking = ({ present }: Units): boolean =>
  Object.values(present).some(({ report, databag }) => report !== undefined || databag !== undefined)

const podIn = ({ metadata: { name, uid = '', creationTimestamp } }: KubernetesObject): UnitPod => ({
  name,
  uid,
  ...(typeof creationTimestamp === 'string' && { created: creationTimestamp }),
})
