import { at } from '../record.ts'
import type { Target } from '../state.ts'
import { fieldConflicts } from './api-error.ts'
import type { Kubernetes } from './client.ts'
import { labelDifference, type SeenLabels, type WantedLabels } from './label-difference.ts'
import { type Kind, type KubernetesObject, nameOf } from './objects.ts'
import { type FieldPath, otherHolders, ownedKeys, stringsAt, withStringsAt } from './ownership.ts'

/** The field manager that holds an application's labels: its name on an object says whose they are when the memory is lost. */
export const labelManager = (application: string): string => `meshstep/${application}`

/** A label that somebody else holds: on which object, who, with which value, and the one that was wanted. */
export type Conflict = { object: string; key: string; manager: string; value: string; wanted: string }

/** What was done at one place: the names of the objects written, and what stands in the way. */
export type LabelReport = { written: readonly string[]; conflicts: readonly Conflict[] }

/** An object, and where in it the labels are. */
export type Place = { object: KubernetesObject; path: FieldPath }

const OWN_LABELS: FieldPath = ['metadata', 'labels']
const TEMPLATE_LABELS: FieldPath = ['spec', 'template', 'metadata', 'labels']

/** Where a target's labels are now; undefined when there is no such object. `first` is the kind of workload to look for first. */
export const observe = async (
  kubernetes: Kubernetes,
  namespace: string,
  { kind, name, on }: Target,
  first: Kind = 'StatefulSet',
): Promise<Place[] | undefined> => {
  const kinds = kind === 'Workload' ? [first, ...WORKLOAD_KINDS.filter((other) => other !== first)] : [kind]
  for (const candidate of kinds) {
    const object = await kubernetes.find({ kind: candidate, namespace, name })
    if (object) return on === 'pods' ? await podsOf(kubernetes, object) : [{ object, path: pathIn(candidate) }]
  }
  return undefined
}

const WORKLOAD_KINDS = ['StatefulSet', 'Deployment'] as const

const pathIn = (kind: Kind): FieldPath =>
  kind === 'StatefulSet' || kind === 'Deployment' ? TEMPLATE_LABELS : OWN_LABELS

const podsOf = async (kubernetes: Kubernetes, { metadata, spec }: KubernetesObject): Promise<Place[]> => {
  const { matchLabels = {} } = (spec?.selector ?? {}) as { matchLabels?: Record<string, string> }
  const selector = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  const pods = await kubernetes.list('Pod', metadata.namespace ?? '', selector.join(','))
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && isOwned(pod))
    .map((object) => ({ object, path: OWN_LABELS }))
}

/** A pod made by a workload: one that somebody started by hand with the same labels is not part of it. */
const isOwned = ({ metadata }: KubernetesObject): boolean =>
  ((metadata.ownerReferences ?? []) as { controller?: boolean }[]).some(({ controller }) => controller === true)

/** Brings the labels at one place to what is wanted, with no call when they are so already. */
export const reconcileLabels = async (
  kubernetes: Kubernetes,
  place: Place,
  wanted: WantedLabels,
  manager: string,
): Promise<LabelReport> => {
  const { remove, apply, conflicts } = labelDifference(seenAt(place, manager), wanted)
  const object = nameOf({ kind: place.object.kind, ...place.object.metadata })
  if (Object.keys(remove).length > 0) await removeLabels(kubernetes, place, remove, manager)
  const late = apply === undefined ? [] : await applyLabels(kubernetes, place, apply, manager)
  return {
    written: apply !== undefined || Object.keys(remove).length > 0 ? [object] : [],
    conflicts: [...conflicts, ...late].map((conflict) => ({ object, ...conflict })),
  }
}

const seenAt = ({ object, path }: Place, manager: string): SeenLabels => ({
  labels: stringsAt(object, path),
  owned: ownedKeys(object, manager, path),
  holders: (key) => otherHolders(object, manager, path, key),
})

/** Each label is removed only while it has the value given. */
const removeLabels = async (
  kubernetes: Kubernetes,
  { object: { kind, metadata }, path }: Place,
  labels: Readonly<Record<string, string>>,
  manager: string,
): Promise<void> => {
  const pointer = (...names: readonly string[]) =>
    names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  const { namespace, name, uid } = metadata
  const operations = Object.entries(labels).flatMap(([key, value]) => [
    { op: 'test' as const, path: pointer(...path, key), value },
    { op: 'remove' as const, path: pointer(...path, key) },
  ])
  await kubernetes.patch(
    { kind: kind as Kind, namespace, name },
    [{ op: 'test', path: '/metadata/uid', value: uid }, ...operations],
    manager,
  )
}

/** Applies all labels but those that turn out, at that moment, to be held by somebody else; returns these. */
const applyLabels = async (
  kubernetes: Kubernetes,
  { object, path }: Place,
  labels: Readonly<Record<string, string>>,
  manager: string,
): Promise<Omit<Conflict, 'object'>[]> => {
  try {
    await kubernetes.apply(withStringsAt(object, path, labels), manager)
    return []
  } catch (error) {
    const prefix = `.${path.join('.')}.`
    const held = fieldConflicts(error)
      .map(({ field, manager: holder }) => ({ key: field.slice(prefix.length), manager: holder }))
      .filter(({ key }) => Object.hasOwn(labels, key))
    if (held.length === 0) throw error
    const rest = Object.fromEntries(
      Object.entries(labels).filter(([key]) => held.every((conflict) => conflict.key !== key)),
    )
    const more = await applyLabels(kubernetes, { object, path }, rest, manager)
    const seen = stringsAt(object, path)
    return [
      ...held.map(({ key, manager: holder }) => ({
        key,
        manager: holder,
        value: at(seen, key) ?? 'unknown',
        wanted: labels[key] ?? '',
      })),
      ...more,
    ]
  }
}
