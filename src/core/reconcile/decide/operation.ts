import type { Condition } from '../../../platform/base/condition.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { type LabelLocation, type ObjectLabelConflict, readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import type { ObjectConflict } from '../../../platform/kubernetes/apply-objects.ts'
import type { LabelDifference } from '../../../platform/kubernetes/label-difference.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import type { State } from '../../state/state.ts'
import { managerOf } from '../../workload/objects.ts'

/**
 * One write. It is bound to the uid and the resourceVersion of the object, as it was observed before the memory was saved (write-ahead). If it is
 * executed late, after its sender gave up or died, it finds another resourceVersion: the step that finds the token of that sender has written
 * once to every object in reach (`touch`).
 */
export type Operation = {
  readonly id: string
  /** The object's name. */
  readonly object: string
  readonly manager: string
  /** The ids of operations that come before this one. If one of them fails or cannot be done, this one is skipped. */
  readonly needs: readonly string[]
  readonly reason: string
} & Write

export type Write =
  | {
      readonly verb: 'apply'
      readonly desired: KubernetesObject
      readonly found: KubernetesObject | undefined
      /** The field managers whose fields this apply takes over. */
      readonly releases?: readonly string[] | undefined
    }
  | { readonly verb: 'label' | 'release' | 'annotate'; readonly place: LabelLocation; readonly difference: Difference }
  | { readonly verb: 'touch'; readonly found: KubernetesObject; readonly fence: string }
  | { readonly verb: 'remove'; readonly found: KubernetesObject }
  /** Removes keys from the Secret that keeps the application's secret values. */
  | { readonly verb: 'forget'; readonly found: KubernetesObject; readonly keys: readonly string[] }

export type Difference = Pick<LabelDifference, 'remove' | 'apply'>

/** Names an operation. The name is the same in each step. */
export const idOf = (verb: Write['verb'] | 'widen', object: string): string => `${verb} ${object}`

/** Names the apply of an object. */
export const applyOf = (object: KubernetesObject): string => idOf('apply', objectKey(object))

/** Names the removal of an object. */
export const removalOf = (object: KubernetesObject): string => idOf('remove', objectKey(object))

/** Names a write of an object, the object, and the manager that writes it. */
export const writeOf = (subject: Subject, verb: Write['verb'] | 'widen', object: KubernetesObject) => ({
  id: idOf(verb, objectKey(object)),
  object: objectKey(object),
  manager: managerOf(subject, object.kind),
})

/** Returns the object that an operation writes, as it is desired, or else as it was found. */
export const objectOf = (operation: Operation): KubernetesObject => {
  if ('place' in operation) return operation.place.object
  return 'desired' in operation ? operation.desired : operation.found
}

/** Returns the object of an operation's id. */
export const objectIn = (id: string): string => id.slice(id.indexOf(' ') + 1)

/** Tells if the operation restarts pods. */
export const isRolling = (operation: Operation): boolean => {
  if (operation.verb === 'apply') return ['Deployment', 'StatefulSet'].includes(operation.desired.kind)
  return 'place' in operation && operation.place.path[0] === 'spec'
}

/** Tells if the operation writes labels. */
export const isLabelOperation = ({ verb }: Operation): boolean => verb === 'label' || verb === 'release'

/** Tells if the operation removes one of our labels. */
export const isReleasing = (operation: Operation): boolean => {
  if (!('difference' in operation)) return false
  const { place, difference, manager } = operation
  const { remove, apply } = difference
  const { own } = readLabels(place, manager).holders
  return (
    Object.keys(remove).length > 0 ||
    (apply !== undefined && [...own].some((key) => ownValue(apply, key) === undefined))
  )
}

/** Tells if an object keeps all of our labels and gets no others. Values may change. */
export const isRelabelling = (operation: Operation): boolean => {
  if (operation.verb !== 'label' || operation.difference.apply === undefined) return false
  const { own } = readLabels(operation.place, operation.manager).holders
  return Object.keys(operation.difference.apply).every((key) => own.has(key)) && !isReleasing(operation)
}

/** A label, object, or field of one of our objects that another manager holds. */
export type Conflict = ObjectLabelConflict | ObjectConflict

/** A desired object that is not applied, with the problem if a person has to repair it. */
type Blocked = { readonly object: KubernetesObject; readonly problem?: string | undefined }

/** The planned writes, and the obstacles to the rest. */
export type Plan = {
  /** In the order of execution. */
  readonly operations: readonly Operation[]
  /** The number of the first ones, after which the targets and the pods are observed again: they may create or replace these. */
  readonly early: number
  readonly blocked: readonly Blocked[]
  readonly conflicts: readonly Conflict[]
  readonly waiting: readonly Condition[]
  readonly messages: readonly string[]
  /** The reasons why objects cannot be read or applied. */
  readonly problems: readonly string[]
  /** The action that other applications have to take first. */
  readonly awaiting: State['awaiting']
}
