import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { isHeld } from '../../../platform/kubernetes/applied.ts'
import type { LabelLocation } from '../../../platform/kubernetes/apply-labels.ts'
import type { LabelTarget } from '../../../platform/kubernetes/label-target.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { awaitedByBeacon } from '../../relations/offers/awaited-peers.ts'
import type { Peers } from '../../relations/peers.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import type { State } from '../../state/state.ts'
import { isWorkload } from '../../workload/objects.ts'
import { slowedWaits } from '../../workload/slowed.ts'
import type { Desired } from '../decide/desired-state.ts'
import type { Operation, Plan } from '../decide/operation.ts'
import type { Running } from '../observe/units.ts'
import { waitsForHolders } from './held-by-others.ts'
import { offMeshWaits } from './off-mesh.ts'
import { otherAccountWaits } from './other-account-pods.ts'
import { unlabelledWaits } from './unlabelled-pods.ts'

export type WaitsInput = {
  readonly mesh: Pick<Mesh, 'capture' | 'enrolment'>
  readonly subject: Subject
  readonly state: State
  readonly resolved: ResolvedRelations
  readonly peers: Peers
  readonly desired: Pick<Desired, 'waiting' | 'labels'>
  readonly plan: Pick<Plan, 'waiting' | 'conflicts'>
  /** The waits for the mesh to accept written objects. */
  readonly unenforced: readonly Condition[]
  /** The wait for pods that are on the mesh. */
  readonly waitForPods: Condition | undefined
  /** The application as it runs. */
  readonly running: Running
  /** Targets that should carry labels but do not exist. */
  readonly missing: readonly LabelTarget[]
  /** The writes of the next step. Absent after a step that wrote, which reports refusals instead. */
  readonly due?: readonly Operation[]
  /**
   * The waits that no step of the application reports: for objects of a lost memory, for beacons that do not know it, and for a config where nothing
   * shows that there was one.
   */
  readonly unnoticed?: readonly Condition[]
}

/**
 * Lists everything that an application holds back or keeps until other parties act. A pure function of its memory, its peers and the
 * observation. Outcomes, the application's status, questions, lint and the page report exactly these waits.
 */
export const waitsOf = (input: WaitsInput): Condition[] => {
  const { mesh, subject, state, resolved, peers, desired, plan, unenforced, waitForPods, running, missing } = input
  const { due = [], unnoticed = [] } = input
  const waits = [
    ...missing.map((target) => missingWait(subject, target)),
    ...due.flatMap((operation) => dueWait(subject, operation)),
    ...resolved.waiting,
    ...awaitedByBeacon(subject, state, resolved, peers),
    ...desired.waiting,
    ...plan.waiting,
    ...waitsForHolders(subject, desired.labels, plan.conflicts),
    ...unenforced,
    ...(waitForPods === undefined ? [] : [waitForPods]),
    ...unlabelledWaits(subject, running, desired.labels.labels),
    ...unnoticed,
    ...offMeshWaits({ mesh, subject, state: resolved.state, desired: desired.labels }, running),
    ...otherAccountWaits(subject, resolved.state, peers, running),
    ...slowedWaits(subject, state),
  ]
  // two parts of a step may wait for the same
  return withBeginnings([...new Map(waits.map((wait) => [wait.message, wait])).values()], state)
}

/** Adds the remembered beginnings to waits without a date of their own. */
export const withBeginnings = (
  waits: readonly Condition[],
  { waitingSince }: Pick<State, 'waitingSince'>,
): Condition[] => waits.map((wait) => ({ ...defined({ since: ownValue(waitingSince, keyOf(wait)) }), ...wait }))

/** Names a wait in the memory. */
const keyOf = ({ reason, object }: Condition): string => `${reason} ${object}`

/** The limit of dates in the memory. Further waits have none. */
const MOST_DATED = 100

/** Dates the waits without a date of their own. Known waits keep their beginning and their place. Undefined if there are none. */
export const beginnings = (
  waits: readonly Condition[],
  known: State['waitingSince'],
  now: Date,
): State['waitingSince'] => {
  const dated = waits
    .map((wait) => [
      keyOf(wait),
      ownValue(known, keyOf(wait)) ??
        (wait.reason === 'PodsUnlabelled' ? wait.since : undefined) ??
        (wait.since === undefined ? now.toISOString() : undefined),
    ])
    .filter(([, since]) => since !== undefined)
    .toSorted(
      ([one = ''], [other = '']) =>
        Number(ownValue(known, other) !== undefined) - Number(ownValue(known, one) !== undefined),
    )
  return dated.length === 0 ? undefined : Object.fromEntries(dated.slice(0, MOST_DATED))
}

/** Tells if a wait has begun or ended since the memory dated them. */
export const isDatedAnew = (
  dates: State['waitingSince'] = {},
  { waitingSince = {} }: Pick<State, 'waitingSince'>,
): boolean => Object.keys({ ...dates, ...waitingSince }).some((key) => dates[key] !== waitingSince[key])

/** Tells if labels are those of a pod. The waits for pods report missing ones. */
const isPod = ({ object: { kind } }: LabelLocation): boolean => kind === 'Pod'

/** Returns the wait for the next step if it has something to write: somebody changed an object, or a peer moved. */
const dueWait = (subject: Subject, operation: Operation): Condition[] => {
  const what = dueOf(operation)
  if (what === undefined) return []
  const name = subjectName(subject)
  return [waitFor([name], 'Due', operation.object, `${what}: the next event of ${name}, or a resync, mends it`)]
}

const dueOf = (operation: Operation): string | undefined => {
  const { object } = operation
  if (operation.verb === 'remove') return `${object} is not desired any more`
  if (operation.verb === 'apply') {
    const { found, desired, manager } = operation
    if (found === undefined) return `${object} is not there`
    // the API server stores values of a spec of pods in forms of its own: only a field that somebody took is known to differ
    return isWorkload(desired.kind) && isHeld(found, desired, manager) ? undefined : `${object} is not as desired`
  }
  const isOfLabels = operation.verb === 'label' || operation.verb === 'release'
  // the waits for pods report theirs
  return isOfLabels && !isPod(operation.place) ? `the labels of ${object} are not as desired` : undefined
}

const missingWait = ({ namespace }: Subject, { kind, name }: LabelTarget): Condition => {
  const object = `${kind === 'Workload' ? 'StatefulSet or Deployment' : kind} ${namespace}/${name}`
  const next =
    kind === 'Service'
      ? 'its labels are applied by the next event after it does; if there is to be none, set service to null in the config'
      : 'its labels are applied by the next pod-restarted'
  return waitFor([object], 'NotFound', `the labels of ${object}`, `${object} does not exist: ${next}`)
}
