import type { LabelLocation } from '../../../platform/kubernetes/apply-labels.ts'
import type { LabelDifference } from '../../../platform/kubernetes/label-difference.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { contentHash } from '../../relations/peer-entry.ts'

/**
 * The phases of a step, in the order of safety: at no moment is anybody on the mesh, or the mesh hardened, without the policies that let its
 * peers in, and at no moment is anybody on the mesh without what guards it. In each phase operations are executed as they are listed.
 *
 * Before the first of them the memory is saved (write-ahead): what may be written, with a token of its own. Each operation is bound to what
 * was observed before that; one that is executed late, after its sender gave up or died, finds another resourceVersion, because whoever
 * finds the token writes once to all that it could reach (`touch`).
 */
export const PHASES = [
  /** Labels go from whoever leaves the mesh, before anything that it was allowed is narrowed. */
  'leave',
  /**
   * Objects that allow something. Of a target in several objects the new ones stand before any guards. Then what denied all else goes,
   * where nothing replaces it.
   */
  'allow',
  /** The labels of the Service of a workload of ours that goes on the mesh: it leads to the waypoint before pods let only that in. */
  'lead',
  /** All that is to run, with the labels of its pods. What takes them off the mesh is run while that is left. */
  'run',
  /** Labels put on the mesh: workload, Service, and then the namespace. What was labelled before is let go of. */
  'enrol',
  /** Policies that deny everybody else. */
  'deny',
  /** Objects that are as desired are written once, where a write may still be on its way. */
  'touch',
  /** Stale objects are removed, denying ones first: each when its replacement stands. */
  'prune',
] as const
export type Phase = (typeof PHASES)[number]

/** One write. It is bound to the uid and the resourceVersion of the object that it was planned for. */
export type Operation = {
  readonly id: string
  readonly phase: Phase
  /** The object's name. */
  readonly object: string
  readonly manager: string
  /** The ids of those that it is skipped without: they fail, or cannot be done. */
  readonly after: readonly string[]
  readonly reason: string
} & Write

export type Write =
  | {
      readonly verb: 'apply'
      readonly desired: KubernetesObject
      readonly found: KubernetesObject | undefined
      /** The field managers of which this apply takes over all that they hold. */
      readonly releases?: readonly string[] | undefined
    }
  | { readonly verb: 'label' | 'release' | 'annotate'; readonly place: LabelLocation; readonly difference: Difference }
  | { readonly verb: 'touch'; readonly found: KubernetesObject; readonly fence: string }
  | { readonly verb: 'remove'; readonly found: KubernetesObject }
  /** Takes keys out of the Secret that keeps the application's secret values. */
  | { readonly verb: 'forget'; readonly found: KubernetesObject; readonly keys: readonly string[] }

export type Difference = Pick<LabelDifference, 'remove' | 'apply'>

/** Names an operation; the same in each step. */
export const idOf = (verb: Write['verb'] | 'widen', object: string): string => `${verb} ${object}`

/** The object that an operation of this id is about. */
export const objectIn = (id: string): string => id.slice(id.indexOf(' ') + 1)

/** Those that can be done while `failed` cannot. */
export const withoutFailed = (operations: readonly Operation[], failed: ReadonlySet<string>): Operation[] => {
  const left = new Set(failed)
  return inOrder(operations).filter(({ id, after }) => {
    const isDue = !left.has(id) && !after.some((one) => left.has(one))
    if (!isDue) left.add(id)
    return isDue
  })
}

/** Those that depend on none of the others. */
export const headsOf = (operations: readonly Operation[]): Operation[] => {
  const ids = new Set(operations.map(({ id }) => id))
  return operations.filter(({ after }) => !after.some((one) => ids.has(one)))
}

/** In the order of the phases. */
export const inOrder = (operations: readonly Operation[]): Operation[] =>
  operations.toSorted((one, other) => PHASES.indexOf(one.phase) - PHASES.indexOf(other.phase))

/** The same for operations that would write the same. */
export const hashOf = (operations: readonly Operation[], blocked: readonly string[]): string =>
  contentHash([...operations.map((operation) => contentHash(contentOf(operation))), ...blocked].toSorted())

const contentOf = (operation: Operation): unknown[] => {
  const { id } = operation
  if (operation.verb === 'apply') return [id, withoutValues(operation.desired)]
  if (operation.verb === 'forget') return [id, operation.keys]
  if ('difference' in operation) return [id, operation.difference]
  return [id]
}

/** The memory keeps the hash, from which nobody is to guess what a Secret holds. */
const withoutValues = (object: KubernetesObject): object =>
  object.kind === 'Secret' ? { ...object, data: Object.keys(object.data ?? {}) } : object

/** Tells if the operation restarts pods. */
export const isRolling = (operation: Operation): boolean => {
  if (operation.verb === 'apply') return ['Deployment', 'StatefulSet'].includes(operation.desired.kind)
  return 'place' in operation && operation.place.path[0] === 'spec'
}

/** Tells if the operation writes labels. */
export const isLabelOperation = ({ verb }: Operation): boolean => verb === 'label' || verb === 'release'
