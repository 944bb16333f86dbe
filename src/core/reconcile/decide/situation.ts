import type { Subject } from '../../../platform/base/subject.ts'
import type { Wait } from '../../../platform/base/wait.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import type { Features } from '../../feature/combine.ts'
import type { Unenforced } from '../../policies/unenforced.ts'
import type { OwnedKind, State } from '../../state/state.ts'
import { WORKLOAD_KINDS, workloadManager } from '../../workload/objects.ts'
import type { Namesakes, Observed } from '../observe/cluster.ts'
import type { Desired } from './desired-state.ts'

/** The parts of a state that a plan follows from; the place of an event among others is none of them. */
export type Planned = Pick<State, 'config' | 'removed' | 'inherited' | 'pending' | 'configChurn'>

/** All that a plan follows from. */
export type Situation = {
  readonly features: Features
  readonly subject: Subject
  readonly state: Planned
  /** The labels that the memory says are held. */
  readonly held: Readonly<Record<string, string>>
  readonly observed: Observed
  readonly namesakes: Namesakes
  readonly desired: Desired
  /** The requesters of which nobody has told what they ask for: what was granted to them stays, and no relation says that it waits. */
  readonly unheard: readonly string[]
  /** The objects as observed that the mesh refuses, or has not taken yet. */
  readonly unenforced: readonly Unenforced[]
  /** Whom stale objects stay for: the mesh of an application that is no beacon any more is left by its consumers first. */
  readonly keptFor: readonly string[]
  /** The reason why what leads to the pods and guards them stays, though the application leaves the mesh: they run there. */
  readonly waitForPods: Wait | undefined
  /** Consumers that carry no labels of their own yet: the namespace stays on the mesh for them. */
  readonly namespaceAwaits: readonly string[]
  /** Providers that have not granted yet what is asked for now: until then no Service goes on the mesh, or comes off it. */
  readonly servicesAwait: readonly string[]
  /**
   * The token to write once to objects that are as desired, where a late write of another step may still reach them. It goes to all, or to
   * those of the names in `only`.
   */
  readonly fence?: { readonly token: string; readonly only?: readonly string[] } | undefined
}

export const isWorkload = (kind: string): boolean => WORKLOAD_KINDS.some((one) => one === kind)

/** Mesh labels on a workload are held by another manager than the workload itself: the two never fight. */
export const managerOf = ({ application }: Subject, kind: string): string =>
  isWorkload(kind as OwnedKind) ? workloadManager(application) : fieldManager(application)
