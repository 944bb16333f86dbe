import { ownValue } from '../../platform/base/own-value.ts'
import { isTemplate, type LabelLocation, readLabels } from '../../platform/kubernetes/apply-labels.ts'
import { fieldManagersAt, listAppliers, stringsAt } from '../../platform/kubernetes/field-managers.ts'
import type { SeenLabels } from '../../platform/kubernetes/label-difference.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../platform/kubernetes/ownership-labels.ts'
import { workloadManager } from './objects.ts'

/** The annotation of a deployed workload with the keys of template labels that are not in its spec. */
export const POD_LABELS = 'meshstep.dev/pod-labels'

/** Names the field manager of annotations in the template of another owner's workload. */
export const annotationsManager = (application: string): string => `meshstep-annotations/${application}`

/** Reads the labels at one place. Labels that a deployed workload holds for the application count as its own. */
export const readHeld = (application: string, place: LabelLocation): SeenLabels => {
  const { labels, holders } = readLabels(place, fieldManager(application))
  const manager = workloadManager(application)
  const held = Object.keys(labelsOfWorkload(application, place))
  const others = [...holders.others].map(
    ([key, managers]) => [key, held.includes(key) ? managers.filter((one) => one !== manager) : managers] as const,
  )
  return held.length === 0
    ? { labels, holders }
    : { labels, holders: { own: new Set([...holders.own, ...held]), others: new Map(others) } }
}

/** Returns the labels at one place that the application holds, or that the charm library holds for it. */
export const labelsHeldAt = (
  application: string,
  place: LabelLocation,
  libraryLabels: Readonly<Record<string, string>> | undefined,
): Record<string, string> => {
  const { labels, holders } = readHeld(application, place)
  return Object.fromEntries(
    Object.entries(labels).filter(([key, value]) => holders.own.has(key) || ownValue(libraryLabels, key) === value),
  )
}

/** Returns the template labels that a deployed workload holds for the application. Those of its spec do not count. */
export const labelsOfWorkload = (application: string, place: LabelLocation): Record<string, string> =>
  heldByWorkload(application, place, isTemplate(place) ? listedLabels(place.object) : [])

const listedLabels = ({ metadata }: KubernetesObject): string[] => metadata.annotations?.[POD_LABELS]?.split(',') ?? []

/** Selects those of the keys that the workload's own manager holds at one place, with their values. */
export const heldByWorkload = (
  application: string,
  { object, path }: LabelLocation,
  keys: readonly string[],
): Record<string, string> => {
  const { own } = fieldManagersAt(object, path, workloadManager(application))
  return Object.fromEntries(
    Object.entries(stringsAt(object, path)).filter(([key]) => own.has(key) && keys.includes(key)),
  )
}

/** Lists the managers of labels and annotations that were written to a template separately. */
export const besideWorkload = (application: string, object: KubernetesObject): string[] => {
  const appliers = listAppliers(object)
  return [fieldManager(application), annotationsManager(application)].filter((one) => appliers.includes(one))
}
