import { ownValue } from '../../../platform/base/own-value.ts'
import {
  diffLabels,
  hasChanges,
  isTemplate,
  type LabelLocation,
  readLabels,
} from '../../../platform/kubernetes/apply-labels.ts'
import { objectKey } from '../../../platform/kubernetes/apply-objects.ts'
import { labelDifference, type SeenLabels, type WantedLabels } from '../../../platform/kubernetes/label-difference.ts'
import { isSameTarget, type LabelTarget } from '../../../platform/kubernetes/label-target.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import { USE_WAYPOINT_LABEL, USE_WAYPOINT_NAMESPACE_LABEL } from '../../relations/enrolment-labels.ts'
import { MESH_KEYS, mayBeForeign } from '../../relations/requestable-labels.ts'
import { isConfigUnknown } from '../../state/state.ts'
import { annotationsManager, heldByWorkload, labelsOfWorkload, readHeld } from '../../workload/pod-labels.ts'
import { type Found, placesOf, type Targets } from '../observe/cluster.ts'
import { type Conflict, type Difference, idOf, type Operation, type Phase } from './operation.ts'
import { isBasicAllow, ownGuardIn, ownGuards } from './own-policies.ts'
import type { Situation, Templates } from './situation.ts'
import { targetOf } from './widen.ts'

type Labelled = {
  readonly operations: readonly Operation[]
  readonly conflicts: readonly Conflict[]
}

/** The config is lost, and only it explains some of the present labels. They stay until the config is known. */
type ConfigLabels = { readonly isConfigAwaited: boolean }

/** Returns the phase in which labels are changed. Whoever stays on the mesh is allowed what the new labels need before. */
export const labelPhase = ({ features: { mesh }, held, desired, waitForPods }: Situation): Phase => {
  const isStaying = Object.hasOwn(desired.labels.labels, mesh.enrolment.key)
  return waitForPods !== undefined || (!isStaying && isOnlyRemoving(held, desired.labels)) ? 'leave' : 'enrol'
}

/** Plans the labels of current targets, and their removal from former ones. The templates of `whole` workloads get their labels with the workload. */
export const planLabels = (
  situation: Situation,
  isSpecRefused: boolean,
  { whole, joining }: Pick<Templates, 'whole' | 'joining'>,
): Labelled & ConfigLabels => {
  const { desired, observed } = situation
  const targets = isSpecRefused ? withRunning(situation, observed.targets) : observed.targets
  const phase = labelPhase(situation)
  const places = placesOf(targets.current)
  const isLeading = phase === 'enrol' && places.every((place) => isService(place) || !isEnrolled(situation, place))
  const isBeside = (place: LabelLocation) => !whole.has(objectKey(place.object))
  const current = without(isLeading ? servicesFirst(places) : places, []).filter(isBeside)
  const left = targets.earlier.filter((found) => !isReplaced(situation, found))
  const earlier = without(placesOf(left), places)
  const guards = ownGuards(situation).map((name) => idOf('apply', name))
  const leads = leadsOf(situation)
  const closing = closingGuards(situation).map((name) => idOf('apply', name))
  const led = guards.filter((guard) => !closing.includes(guard))
  const opening = openingGuards(situation).map((name) => idOf('remove', name))
  const isLed = isLeading && joining.size + closing.length > 0
  const howAtService: How =
    opening.length > 0
      ? { verb: 'label', phase: 'lead', guards: opening }
      : { verb: 'label', phase: isLed ? 'lead' : phase, guards: led }
  const howAtPods = (place: LabelLocation): How => ({
    ...{ verb: 'label', phase },
    guards: isEnrolled(situation, place) ? guards : [...guards, ...leads],
  })
  const planned = joined([
    ...current.map((place) =>
      labelled(
        situation,
        place,
        wantedAt(situation, place, desired.labels),
        isService(place) ? howAtService : howAtPods(place),
      ),
    ),
    ...earlier.map((place) =>
      labelled(situation, place, wantedAt(situation, place, RELEASED), { verb: 'release', phase, guards }),
    ),
    ...current.map((place) => annotated(situation, place, desired.annotations)),
    ...earlier.map((place) => annotated(situation, place, { ...RELEASED, inherited: {} })),
  ])
  const isConfigAwaited = [...current, ...earlier].some((place) =>
    unexplained(situation, place).some((key) => !Object.hasOwn(desired.labels.labels, key)),
  )
  return { ...planned, isConfigAwaited }
}

const wantedAt = (situation: Situation, place: LabelLocation, { labels, unknown }: Wanted): WantedLabels => {
  const { subject, state, observed } = situation
  return {
    labels,
    unknown:
      unknown === 'all' ? unknown : [...unknown, ...unexplained(situation, place), ...keptForPods(situation, place)],
    inherited: {
      ...(isAt(place, observed.targets.library) && state.libraryLabels),
      ...labelsOfWorkload(subject.application, place),
    },
  }
}

/** Lists the ids of the writes that lead Services to a waypoint. Pods that join the mesh accept only the waypoint, so they join after that. */
export const leadsOf = (situation: Situation): string[] => {
  const { subject, desired, observed } = situation
  return placesOf(observed.targets.current).flatMap((place) => {
    const seen = readHeld(subject.application, place)
    const { apply = {} } = labelDifference(seen, wantedAt(situation, place, desired.labels))
    const isLed = Object.hasOwn(apply, USE_WAYPOINT_LABEL) && changesKeys(WAYPOINT_KEYS, seen, { remove: {}, apply })
    return isService(place) && isLed ? [idOf('label', objectKey(place.object))] : []
  })
}

/**
 * Names the first policies of own pods whose Service is yet to be led to the waypoint. They close the pods to all who come another way, so they
 * are written after the Service is led: the pods may be on the mesh already, by their namespace. Further policies only open what others close.
 */
export const closingGuards = (situation: Situation): string[] => {
  if (leadsOf(situation).length === 0) return []
  const ofPods = guardsOfPods(situation)
  const isClosed = situation.observed.owned.kinds.some(({ live = [] }) => live.some(ofPods))
  return isClosed ? [] : situation.desired.objects.filter(ofPods).map(objectKey)
}

/**
 * Names the policies of own pods that go without a replacement when the application leaves the mesh. Pods that stay on it with their namespace
 * accept only the waypoint until then, so these policies are removed before the Service is led elsewhere.
 */
export const openingGuards = (situation: Situation): string[] => {
  if (labelPhase(situation) !== 'leave') return []
  const { features, desired, observed } = situation
  const guarded = new Set(desired.objects.map((object) => targetOf(features.mesh, object)))
  return observed.owned.kinds
    .flatMap(({ live = [] }) => live.filter(guardsOfPods(situation)))
    .filter((object) => !guarded.has(targetOf(features.mesh, object)))
    .map(objectKey)
}

const guardsOfPods = (situation: Situation): ((object: KubernetesObject) => boolean) => {
  const isOwnGuard = ownGuardIn(situation)
  return (object) => isOwnGuard(object) && situation.features.mesh.isForPods(object)
}

const WAYPOINT_KEYS = [USE_WAYPOINT_LABEL, USE_WAYPOINT_NAMESPACE_LABEL]

/** Tells if the target is a set of pods that a rollout is replacing by pods of a labelled template. The old pods stay on the mesh until then. */
const isReplaced = ({ features, desired, observed }: Situation, { target: { on, ...template } }: Found): boolean =>
  on === 'pods' &&
  Object.hasOwn(desired.labels.labels, features.mesh.enrolment.key) &&
  observed.targets.current.some(({ target, places }) => places !== undefined && isSameTarget(target, template))

/** Lists the labels of a Service that must stay until its pods have lost theirs: these pods accept only the waypoint that the Service leads to. */
const keptForPods = ({ subject: { application }, waitForPods }: Situation, place: LabelLocation): string[] =>
  waitForPods !== undefined && place.object.kind === 'Service'
    ? [...readLabels(place, fieldManager(application)).holders.own]
    : []

/** Lists our labels that no relation can have requested, so that the config must explain them. Empty if the config is known. */
const unexplained = ({ subject: { application }, state }: Situation, place: LabelLocation): string[] => {
  if (!isConfigUnknown(state)) return []
  const { labels, holders } = readHeld(application, place)
  return [...holders.own].filter((key) => !mayBeForeign(application, key, ownValue(labels, key) ?? ''))
}

/**
 * Plans the annotations of a pod template. They come after the files that they refer to, so that new pods find those files. Running pods
 * are never annotated, as that would restart nothing. The field manager is not that of the object's labels.
 */
const annotated = (
  { subject, desired }: Situation,
  { object, path }: LabelLocation,
  wanted: WantedLabels,
): Labelled => {
  if (!isTemplate({ path })) return NOTHING
  const place = { object, path: [...path.slice(0, -1), 'annotations'] }
  const manager = annotationsManager(subject.application)
  const inherited = heldByWorkload(subject.application, place, Object.keys(wanted.labels))
  const { conflicts, ...difference } = diffLabels(place, { ...wanted, inherited }, manager)
  const name = objectKey(object)
  const files = desired.objects.filter(({ kind }) => kind === 'ConfigMap').map((file) => idOf('apply', objectKey(file)))
  const operation: Operation = {
    ...{ id: idOf('annotate', name), phase: 'enrol', object: name, manager, after: files },
    ...{ verb: 'annotate', place, difference, reason: 'the pods are to start with another file' },
  }
  return {
    operations: hasChanges(difference) ? [operation] : [],
    conflicts: conflicts.map((conflict) => ({ object: name, ...conflict })),
  }
}

/** Plans the labels of the namespace. They stay while consumers depend on them. */
export const planNamespace = (situation: Situation): Labelled & ConfigLabels & { isKept: boolean } => {
  const { features, subject, state, namespaceAwaits, desired, observed } = situation
  const { namespace } = observed.owned
  if (namespace === undefined || 'problem' in namespace || namespace.object === undefined)
    return { ...NOTHING, isKept: false, isConfigAwaited: false }
  const place = { object: namespace.object, path: ['metadata', 'labels'] }
  const seen = readLabels(place, fieldManager(subject.application))
  if (isConfigUnknown(state)) return { ...NOTHING, isKept: false, isConfigAwaited: seen.holders.own.size > 0 }
  // the whole namespace joins, or switches to another waypoint, once all consumers let in whom they mean to then
  if (situation.laggards.length > 0 && state.config?.mesh !== undefined)
    return {
      ...NOTHING,
      isKept: state.config.mesh.modelOnMesh !== true && seen.holders.own.size > 0,
      isConfigAwaited: false,
    }
  const isKept = state.config?.mesh !== undefined && namespaceAwaits.length > 0 && seen.holders.own.size > 0
  const { conflict, ...labels } = features.mesh.namespaceLabels(subject, state.config, seen, observed.lookups, isKept)
  const wanted = { ...labels, unknown: [] as const }
  const guards = desired.objects.filter(
    (object) => object.metadata.namespace === subject.namespace && isBasicAllow(features, object),
  )
  const planned = labelled(situation, place, wanted, {
    verb: 'label',
    phase: 'enrol',
    guards: guards.map((object) => idOf('apply', objectKey(object))),
  })
  const conflicts = conflict ? [{ object: objectKey(place.object), ...conflict }] : []
  return {
    ...planned,
    conflicts: [...conflicts, ...planned.conflicts],
    isKept,
    isConfigAwaited: false,
  }
}

const NOTHING: Labelled = { operations: [], conflicts: [] }

const joined = (parts: readonly Labelled[]): Labelled => ({
  operations: parts.flatMap(({ operations }) => operations),
  conflicts: parts.flatMap(({ conflicts }) => conflicts),
})

/** `guards` are the ids of the operations that labels of the mesh come after. */
type How = { verb: 'label' | 'release'; phase: Phase; guards: readonly string[] }

const labelled = (
  situation: Situation,
  place: LabelLocation,
  wanted: WantedLabels,
  { verb, phase, guards }: How,
): Labelled => {
  const manager = fieldManager(situation.subject.application)
  const seen = readHeld(situation.subject.application, place)
  const { conflicts, ...difference } = labelDifference(seen, wanted)
  const object = objectKey(place.object)
  const common = { object, manager, phase, reason: REASONS[labelPhase(situation) === 'leave' ? 'release' : verb] }
  // the policies come before the enrolment, and before requests take another way
  const isStaying = Object.hasOwn(situation.desired.labels.labels, situation.features.mesh.enrolment.key)
  const after = (isStaying || phase === 'lead') && changesMesh(seen, difference) ? guards : []
  const { fence } = situation
  const due: Operation[] = hasChanges(difference)
    ? [{ ...common, id: idOf(verb, object), verb, place, difference, after }]
    : []
  const fenced: Operation[] =
    due.length === 0 && fence !== undefined
      ? [{ ...common, id: idOf('touch', object), verb: 'touch', found: place.object, fence, after: [] }]
      : []
  return {
    operations: [...due, ...fenced],
    conflicts: conflicts.map((conflict) => ({ object, ...conflict })),
  }
}

const REASONS = { label: 'the labels are desired', release: 'the labels are not desired any more' }

/** Tells if the application has put the object on the mesh. Its other labels do not count. */
const isEnrolled = ({ features, subject }: Situation, place: LabelLocation): boolean =>
  readHeld(subject.application, place).holders.own.has(features.mesh.enrolment.key)

/** Tells if labels of the mesh change: those that put an object on it, and those that lead to a waypoint, to another one or away from one. */
export const changesMesh = (seen: SeenLabels, difference: Difference): boolean =>
  changesKeys(MESH_KEYS, seen, difference)

const changesKeys = (
  keys: readonly string[],
  { labels, holders }: SeenLabels,
  { remove, apply }: Difference,
): boolean =>
  keys.some((key) => {
    const value = holders.own.has(key) ? ownValue(labels, key) : undefined
    return Object.hasOwn(remove, key) || (apply !== undefined && ownValue(apply, key) !== value)
  })

const isOnlyRemoving = (held: Readonly<Record<string, string>>, { labels, unknown }: Wanted): boolean =>
  unknown !== 'all' &&
  Object.keys(held).some((key) => ownValue(labels, key) === undefined) &&
  Object.entries(labels).every(([key, value]) => ownValue(held, key) === value)

/**
 * Adds the running workload to the current targets. If a spec is refused, the workload deployed before still runs, and keeps its labels.
 */
const withRunning = ({ subject }: Situation, targets: Targets): Targets => ({
  ...targets,
  current: [...targets.current, ...targets.earlier.filter(({ target }) => target.name === subject.application)],
})

type Wanted = Pick<DesiredLabels, 'labels' | 'unknown'>

/** No labels at all. */
export const RELEASED: Wanted = { labels: {}, unknown: [] }

const isAt = ({ object: { kind, metadata } }: LabelLocation, targets: readonly LabelTarget[]): boolean =>
  targets.some((target) => target.kind === kind && target.name === metadata.name)

const isService = ({ object }: LabelLocation): boolean => object.kind === 'Service'

/** Sorts Services first, to join safely: the Service must lead to the waypoint before the pods accept only the waypoint. */
const servicesFirst = (places: readonly LabelLocation[]): LabelLocation[] =>
  places.toSorted((one, other) => Number(isService(other)) - Number(isService(one)))

/** Removes repeated places. A former target may be the same object as a current one, or as another former one, under another name. */
const without = (places: readonly LabelLocation[], others: readonly LabelLocation[]): LabelLocation[] =>
  places.filter((place, index) => ![...others, ...places.slice(0, index)].some((other) => isSamePlace(place, other)))

const isSamePlace = (one: LabelLocation, other: LabelLocation): boolean =>
  one.object.metadata.uid === other.object.metadata.uid && one.path === other.path
