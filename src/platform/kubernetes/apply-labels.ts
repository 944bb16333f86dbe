import { ownValue } from '../base/own-value.ts'
import { fieldConflicts } from './api-error.ts'
import type { Kubernetes } from './client.ts'
import { type FieldPath, fieldManagersAt, stringsAt, withStringsAt } from './field-managers.ts'
import {
  type LabelConflict,
  type LabelDifference,
  labelDifference,
  type SeenLabels,
  type WantedLabels,
} from './label-difference.ts'
import type { LabelTarget } from './label-target.ts'
import { type Kind, type KubernetesObject, objectKey } from './objects.ts'
import { livePods } from './pods.ts'

/** A label conflict, and the object that has it. */
export type ObjectLabelConflict = { object: string } & LabelConflict

/** The result at one location: the object's name if it was written, and the conflicts. */
export type LabelReport = { written?: string; conflicts: readonly ObjectLabelConflict[] }

/** An object, and the path of the labels in it. */
export type LabelLocation = { object: KubernetesObject; path: FieldPath }

const OWN_LABELS: FieldPath = ['metadata', 'labels']
export const TEMPLATE_LABELS: FieldPath = ['spec', 'template', 'metadata', 'labels']

/** Tells if the labels are those of a pod template. */
export const isTemplate = ({ path }: Pick<LabelLocation, 'path'>): boolean => path.includes('template')

/** Finds the locations of a target's labels. Resolves to undefined if the object does not exist. `first` is the kind of workload to try first. */
export const findLabels = async (
  kubernetes: Kubernetes,
  namespace: string,
  { kind, name, on }: LabelTarget,
  first?: Kind,
): Promise<LabelLocation[] | undefined> => {
  const kinds = kind === 'Workload' ? candidateKinds(first) : [kind]
  for (const candidate of kinds) {
    const object = await kubernetes.find({ kind: candidate, namespace, name })
    if (object)
      return on === 'pods' ? await podLocations(kubernetes, object) : [{ object, path: labelsPath(candidate) }]
  }
  return undefined
}

/** Lists the kinds of a workload in the order of lookup. */
export const candidateKinds = (first: Kind = 'StatefulSet'): readonly Kind[] =>
  first === 'Deployment' ? ['Deployment', 'StatefulSet'] : ['StatefulSet', 'Deployment']

const labelsPath = (kind: Kind): FieldPath =>
  kind === 'StatefulSet' || kind === 'Deployment' ? TEMPLATE_LABELS : OWN_LABELS

/** Finds the labels of live pods. Pods that are being deleted need no labels. */
const podLocations = async (kubernetes: Kubernetes, workload: KubernetesObject): Promise<LabelLocation[]> =>
  (await livePods(kubernetes, workload)).map((object) => ({ object, path: OWN_LABELS }))

/** Reads the labels at one location and their field managers. */
export const readLabels = ({ object, path }: LabelLocation, manager: string): SeenLabels => ({
  labels: stringsAt(object, path),
  holders: fieldManagersAt(object, path, manager),
})

/** Computes the changes at one location, and the conflicts. */
export const diffLabels = (place: LabelLocation, wanted: WantedLabels, manager: string): LabelDifference =>
  labelDifference(readLabels(place, manager), wanted)

/** Tells if there is something to write. */
export const hasChanges = ({ remove, apply }: Pick<LabelDifference, 'remove' | 'apply'>): boolean =>
  apply !== undefined || Object.keys(remove).length > 0

/** Writes the differences at one location. Reports conflicts that arise meanwhile. */
export const writeLabels = async (
  kubernetes: Kubernetes,
  place: LabelLocation,
  { remove, apply }: Pick<LabelDifference, 'remove' | 'apply'>,
  manager: string,
): Promise<LabelReport> => {
  const isRemoving = Object.keys(remove).length > 0
  const object = isRemoving ? await removeLabels(kubernetes, place, remove, manager) : place.object
  const applied = apply === undefined ? NOTHING : await applyLabels(kubernetes, { ...place, object }, apply, manager)
  const name = objectKey(object)
  return {
    ...((isRemoving || applied.changed) && { written: name }),
    conflicts: applied.conflicts.map((conflict) => ({ object: name, ...conflict })),
  }
}

/** Removes labels, if they still have the given values. */
const removeLabels = async (
  kubernetes: Kubernetes,
  { object: { kind, metadata }, path }: LabelLocation,
  labels: Readonly<Record<string, string>>,
  manager: string,
): Promise<KubernetesObject> => {
  const pointer = (...names: readonly string[]) =>
    names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  const { namespace, name, uid, resourceVersion } = metadata
  const operations = Object.entries(labels).flatMap(([key, value]) => [
    { op: 'test' as const, path: pointer(...path, key), value },
    { op: 'remove' as const, path: pointer(...path, key) },
  ])
  const seen = [
    { op: 'test' as const, path: '/metadata/uid', value: uid },
    { op: 'test' as const, path: '/metadata/resourceVersion', value: resourceVersion },
  ]
  return await kubernetes.patch({ kind: kind as Kind, namespace, name }, [...seen, ...operations], manager)
}

type Applied = { changed: boolean; conflicts: readonly LabelConflict[] }

const NOTHING: Applied = { changed: false, conflicts: [] }

/** Applies the labels except those that another field manager has taken meanwhile. */
const applyLabels = async (
  kubernetes: Kubernetes,
  { object, path }: LabelLocation,
  labels: Readonly<Record<string, string>>,
  manager: string,
): Promise<Applied> => {
  const apply = async (force: boolean): Promise<Applied> => {
    const { metadata } = await kubernetes.apply(withStringsAt(object, path, labels), manager, { force })
    return { changed: metadata.resourceVersion !== object.metadata.resourceVersion, conflicts: [] }
  }
  try {
    return await apply(false)
  } catch (error) {
    if (isOverNothing(error, { object, path })) return await apply(true)
    const conflicts = lateConflicts(error, { object, path }, labels)
    if (conflicts.length === 0) throw error
    const refused = conflicts.map(({ key }) => key)
    const rest = Object.fromEntries(Object.entries(labels).filter(([key]) => !refused.includes(key)))
    const applied = await applyLabels(kubernetes, { object, path }, rest, manager)
    return { changed: applied.changed, conflicts: [...conflicts, ...applied.conflicts] }
  }
}

/**
 * Tells if the only conflict is that another manager applied the map without any label. A forced apply then takes no label from it, because it is bound to
 * the resourceVersion without labels.
 */
const isOverNothing = (error: unknown, { object, path }: LabelLocation): boolean => {
  const fields = fieldConflicts(error).map(({ field }) => field)
  return (
    fields.length > 0 &&
    fields.every((field) => field === `.${path.join('.')}`) &&
    Object.keys(stringsAt(object, path)).length === 0
  )
}

const lateConflicts = (
  error: unknown,
  { object, path }: LabelLocation,
  labels: Readonly<Record<string, string>>,
): LabelConflict[] => {
  const prefix = `.${path.join('.')}.`
  const causes = fieldConflicts(error).map(({ field, manager }) => ({ key: field.slice(prefix.length), manager }))
  return Object.entries(labels).flatMap(([key, wanted]) => {
    const managers = causes.filter((cause) => cause.key === key).map(({ manager }) => manager)
    const value = ownValue(stringsAt(object, path), key) ?? 'unknown'
    return managers.length === 0 ? [] : [{ key, manager: managers.join(', '), value, wanted }]
  })
}
