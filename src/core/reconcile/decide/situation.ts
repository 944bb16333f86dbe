import type { Condition } from '../../../platform/base/condition.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Features } from '../../feature/combine.ts'
import type { Leftovers } from '../../feature/feature.ts'
import type { Unenforced } from '../../policies/unenforced.ts'
import type { Unknown } from '../../relations/unknown.ts'
import type { State } from '../../state/state.ts'
import type { Namesakes, Observed } from '../observe/cluster.ts'
import type { Desired } from './desired-state.ts'
import type { Conflict } from './operation.ts'

/** The parts of a state that a plan depends on. The order of events is not one of them. */
export type Planned = Pick<State, 'config' | 'libraryLabels' | 'pending' | 'slowed'>

/** All inputs of a plan. */
export type Situation = {
  readonly features: Features
  readonly subject: Subject
  readonly state: Planned
  readonly unknown: Unknown
  /** The labels that are held, according to the memory. */
  readonly heldLabels: Readonly<Record<string, string>>
  readonly observed: Observed
  readonly namesakes: Namesakes
  readonly desired: Desired
  /** The objects that another program left, and that the application takes over. */
  readonly leftovers: readonly Leftovers[]
  /** The observed objects that the mesh has refused or not accepted yet. */
  readonly unenforced: readonly Unenforced[]
  /** The applications that stale objects are kept for. The consumers of a former beacon leave the mesh before its objects go. */
  readonly keptFor: readonly string[]
  /** The wait for pods that still run on the mesh while the application leaves. Until then their Service labels and policies stay. */
  readonly waitForPods: Condition | undefined
  /** A consumer has yet to write its policies by the present offer. */
  readonly isClaimAwaited: boolean
  /** Consumers without labels of their own. The namespace stays on the mesh for them. */
  readonly labelsAwaited: readonly string[]
  /** The token to write once to objects that are as desired, if a late write of another step may still reach them. */
  readonly fence?: string | undefined
}

/** Lists the application's own objects that are there. */
export const liveIn = ({ observed }: Pick<Situation, 'observed'>): KubernetesObject[] =>
  observed.owned.kinds.flatMap(({ live = [] }) => live)

/** The desired objects. Workloads include the labels and annotations of their pods. */
export type Templates = {
  readonly objects: readonly KubernetesObject[]
  /** The workloads with complete templates, each with the managers of earlier separate writes. Nothing else writes to these templates. */
  readonly whole: ReadonlyMap<string, readonly string[]>
  /** The ids of what comes before a workload whose pods join the mesh, or are led to a waypoint or away from one, by the workload's name. */
  readonly before: ReadonlyMap<string, readonly string[]>
  /** The ids of the applies that remove labels from pods. */
  readonly releasing: readonly string[]
  readonly conflicts: readonly Conflict[]
}
