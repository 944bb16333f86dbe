import { ownValue } from '../../../platform/base/own-value.ts'
import { isTemplate, TEMPLATE_LABELS } from '../../../platform/kubernetes/apply-labels.ts'
import { stringsAt } from '../../../platform/kubernetes/field-managers.ts'
import { labelsToHold, type SeenLabels } from '../../../platform/kubernetes/label-difference.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { podTemplate } from '../../../platform/kubernetes/pod-like.ts'
import { MESH_KEYS } from '../../relations/mesh-labels.ts'
import { workloadManager } from '../../workload/objects.ts'
import { besideWorkload, labelsOfWorkload, POD_LABELS, readHeld } from '../../workload/pod-labels.ts'
import { placesOf } from '../observe/cluster.ts'
import { applyOf } from './operation.ts'
import { neededBy, type Order, podGroups } from './order.ts'
import { liveIn, type Situation, type Templates } from './situation.ts'
import { changesAny, RELEASED } from './wanted-labels.ts'

/**
 * Puts the labels and annotations of pods into the own workloads, so that one event causes one write of a template. If the workload, or what
 * comes before its new labels, failed, a running workload keeps its labels, and others are written separately.
 */
export const planTemplates = (situation: Situation, order: Order, failed: ReadonlySet<string>): Templates => {
  const planned = situation.desired.objects.map((object) =>
    object.kind === 'Deployment' || object.kind === 'StatefulSet'
      ? planTemplate(situation, order, object, failed)
      : { ...BESIDE, object },
  )
  const releasing = planned.filter(({ isReleasing }) => isReleasing).map(({ object }) => applyOf(object))
  return {
    objects: planned.map(({ object }) => object),
    whole: new Map(planned.flatMap(({ object, releases }) => (releases ? [[objectKey(object), releases]] : []))),
    before: new Map(planned.map(({ object, before }) => [objectKey(object), before])),
    releasing,
    conflicts: planned.flatMap(({ conflicts }) => conflicts),
  }
}

type Template = Pick<Templates, 'conflicts'> & {
  readonly object: KubernetesObject
  /** The managers of earlier separate writes, if the template is complete now. */
  readonly releases?: readonly string[]
  /** The ids of the writes that come before new labels of the mesh. */
  readonly before: readonly string[]
  readonly isReleasing: boolean
}

const BESIDE: Omit<Template, 'object'> = { before: [], isReleasing: false, conflicts: [] }

const planTemplate = (
  situation: Situation,
  { groups }: Order,
  object: KubernetesObject,
  failed: ReadonlySet<string>,
): Template => {
  const { desired, observed, features } = situation
  const { application } = situation.subject
  const isTarget = observed.targets.current.some(
    ({ target: { kind, name, on } }) => kind === object.kind && name === object.metadata.name && on === undefined,
  )
  const { labels: wanted, annotations } = isTarget ? desired : UNLABELLED
  const found = findRunning(situation, object)
  const place = found && { object: found, path: TEMPLATE_LABELS }
  const seen = place ? readHeld(application, place) : NOTHING_SEEN
  const { key } = features.mesh.enrolment
  const isOnMesh = Object.hasOwn(wanted.labels, key)
  const isJoining = isOnMesh && !seen.holders.own.has(key)
  const { hold, conflicts } = joined(application, object, seen, wanted)
  const isChanging = isJoining || (isOnMesh && changesAny(MESH_KEYS, seen, { remove: {}, apply: hold }))
  const earlier = isChanging ? neededBy(groups, podGroups(situation, seen)) : []
  if (place && [applyOf(object), ...earlier].some((id) => failed.has(id)))
    return { ...BESIDE, object: withPods(object, labelsOfWorkload(application, place), annotations.labels) }
  const whole = withPods(object, hold, annotations.labels)
  const labels = stringsAt(whole, TEMPLATE_LABELS)
  return {
    object: whole,
    releases: found ? besideWorkload(application, found) : [],
    before: earlier,
    isReleasing: !isJoining && [...seen.holders.own].some((key) => !Object.hasOwn(labels, key)),
    conflicts,
  }
}

const UNLABELLED = { labels: RELEASED, annotations: RELEASED }

const NOTHING_SEEN: SeenLabels = { labels: {}, holders: { own: new Set(), others: new Map() } }

/** Finds the live object, whoever created it. */
const findRunning = (situation: Situation, object: KubernetesObject): KubernetesObject | undefined => {
  const key = objectKey(object)
  const { observed, namesakes } = situation
  const read = namesakes.get(key)
  const templates = placesOf(observed.targets.current).filter(isTemplate)
  const found = [...templates.map((place) => place.object), ...liveIn(situation)].find((one) => objectKey(one) === key)
  return found ?? (read && 'object' in read ? read.object : undefined)
}

/** Joins the requested labels with those of the spec. The spec takes precedence; a different requested value is a conflict. */
const joined = (
  application: string,
  object: KubernetesObject,
  { labels, holders }: SeenLabels,
  { labels: wanted, unknown }: typeof RELEASED,
): Pick<Templates, 'conflicts'> & Pick<ReturnType<typeof labelsToHold>, 'hold'> => {
  const manager = workloadManager(application)
  const spec = stringsAt(object, TEMPLATE_LABELS)
  const name = objectKey(object)
  // a label of the former spec goes with that spec
  const isOfSpec = (key: string) =>
    !holders.own.has(key) && (holders.others.get(key)?.every((one) => one === manager) ?? false)
  const left = Object.fromEntries(Object.entries(labels).filter(([key]) => !isOfSpec(key)))
  const free = Object.fromEntries(Object.entries(wanted).filter(([key]) => !Object.hasOwn(spec, key)))
  const { hold, conflicts } = labelsToHold({ labels: left, holders }, { labels: free, unknown, inherited: {} })
  const overruled = Object.entries(wanted).flatMap(([key, value]) => {
    const present = ownValue(spec, key)
    return present === undefined || present === value ? [] : [{ key, manager, value: present, wanted: value }]
  })
  return { hold, conflicts: [...conflicts, ...overruled].map((conflict) => ({ object: name, ...conflict })) }
}

type Strings = Readonly<Record<string, string>>

/** Adds labels and annotations to the pods of a workload. An annotation of the workload lists the added labels. */
const withPods = (object: KubernetesObject, hold: Strings, added: Strings): KubernetesObject => {
  const template = podTemplate(object)
  const { labels, ...metadata } = template.metadata ?? {}
  const annotations = { ...metadata.annotations, ...added }
  const listed = Object.keys(hold).filter((key) => !Object.hasOwn(labels ?? {}, key))
  const pods = {
    ...{ ...metadata, labels: { ...hold, ...labels } },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  }
  return {
    ...object,
    metadata: {
      ...object.metadata,
      ...(listed.length > 0 && {
        annotations: { ...object.metadata.annotations, [POD_LABELS]: listed.toSorted().join(',') },
      }),
    },
    spec: { ...object.spec, template: { ...template, metadata: pods } },
  }
}
