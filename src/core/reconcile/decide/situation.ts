import type { Subject } from '../../../platform/base/subject.ts'
import type { Wait } from '../../../platform/base/wait.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import type { Features } from '../../feature/combine.ts'
import type { Unenforced } from '../../policies/unenforced.ts'
import type { OwnedKind, State } from '../../state/state.ts'
import { WORKLOAD_KINDS, workloadManager } from '../../workload/objects.ts'
import type { Namesakes, Observed } from '../observe/cluster.ts'
import type { Desired } from './desired-state.ts'

/** The parts of a state that a plan depends on. The order of events is not one of them. */
export type Planned = Pick<State, 'config' | 'removed' | 'inherited' | 'pending' | 'configChurn'>

/** All inputs of a plan. */
export type Situation = {
  readonly features: Features
  readonly subject: Subject
  readonly state: Planned
  /** The labels that are held, according to the memory. */
  readonly held: Readonly<Record<string, string>>
  readonly observed: Observed
  readonly namesakes: Namesakes
  readonly desired: Desired
  /** The requesters with unknown requests, if no relation reports the wait. Their grants stay. */
  readonly unheard: readonly string[]
  /** The observed objects that the mesh has refused or not accepted yet. */
  readonly unenforced: readonly Unenforced[]
  /** The applications that stale objects are kept for. The consumers of a former beacon leave the mesh before its objects go. */
  readonly keptFor: readonly string[]
  /** The wait for pods that still run on the mesh while the application leaves. Until then their Service labels and policies stay. */
  readonly waitForPods: Wait | undefined
  /** Consumers without labels of their own. The namespace stays on the mesh for them. */
  readonly namespaceAwaits: readonly string[]
  /** Providers that have not granted the current request. Until they do, no Service joins or leaves the mesh. */
  readonly servicesAwait: readonly string[]
  /**
   * The token to write once to objects that are as desired, if a late write of another step may still reach them. It goes to all objects,
   * or to those named in `only`.
   */
  readonly fence?: { readonly token: string; readonly only?: readonly string[] } | undefined
}

export const isWorkload = (kind: string): boolean => WORKLOAD_KINDS.some((one) => one === kind)

/** Returns the field manager of a kind. Mesh labels and the workload itself have different managers, so the two never conflict. */
export const managerOf = ({ application }: Subject, kind: string): string =>
  isWorkload(kind as OwnedKind) ? workloadManager(application) : fieldManager(application)
