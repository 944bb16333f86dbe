import { diffLabels, hasChanges, isTemplate, type LabelLocation } from '../../../platform/kubernetes/apply-labels.ts'
import { labelDifference, type WantedLabels } from '../../../platform/kubernetes/label-difference.ts'
import { isSameTarget } from '../../../platform/kubernetes/label-target.ts'
import { objectKey } from '../../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import { annotationsManager, heldByWorkload, readHeld } from '../../workload/pod-labels.ts'
import { placesOf } from '../observe/cluster.ts'
import type { Found } from '../observe/units.ts'
import { applyOf, idOf, type Operation, type Plan } from './operation.ts'
import type { Order } from './order.ts'
import { touching } from './plan-kept.ts'
import type { Situation, Templates } from './situation.ts'
import { unexplained, waitsForConfig } from './stays.ts'
import { RELEASED, type Wanted, wantedAt } from './wanted-labels.ts'

/** `touches` go to labels that stay as they are. */
type Labelled = Pick<Plan, 'operations' | 'conflicts'> & { readonly touches: readonly Operation[] }

export type PlannedLabels = Labelled & Pick<Plan, 'waiting'>

/** Plans the labels of current targets, and their removal from former ones. The templates of `whole` workloads get their labels with the workload. */
export const planLabels = (
  situation: Situation,
  order: Order,
  { whole }: Pick<Templates, 'whole'>,
  isSpecRefused: boolean,
): PlannedLabels => {
  const { subject, desired, observed } = situation
  const { current: targets, earlier: former } = observed.targets
  // if a spec is refused, the workload deployed before still runs, and keeps its labels
  const running = isSpecRefused ? former.filter(({ target }) => target.name === subject.application) : []
  const places = placesOf([...targets, ...running])
  const isBeside = ({ object }: LabelLocation) => !whole.has(objectKey(object))
  const current = without(places, []).filter(isBeside)
  const isReplaced = ({ target: { on, ...template } }: Found) =>
    on === 'pods' &&
    order.isOnMesh &&
    targets.some(({ target, places: there }) => there && isSameTarget(target, template))
  // pods stay on the mesh until a rollout has replaced them by pods of a labelled template
  const earlier = without(placesOf(former.filter((found) => !isReplaced(found))), places)
  const planned = [
    ...current.map((place) => labelled(situation, order, place, wantedAt(situation, place, desired.labels), 'label')),
    ...earlier.map((place) => labelled(situation, order, place, wantedAt(situation, place, RELEASED), 'release')),
    ...current.map((place) => annotated(situation, place, desired.annotations)),
    ...earlier.map((place) => annotated(situation, place, RELEASED)),
  ]
  return {
    touches: planned.flatMap(({ touches }) => touches),
    operations: planned.flatMap(({ operations }) => operations),
    conflicts: planned.flatMap(({ conflicts }) => conflicts),
    waiting: waitsForConfig(
      situation,
      [...current, ...earlier].some((place) =>
        unexplained(situation, place).some((key) => !Object.hasOwn(desired.labels.labels, key)),
      ),
    ),
  }
}

/** Plans the labels of one place. */
export const labelled = (
  situation: Situation,
  { labelsGoFirst }: Order,
  place: LabelLocation,
  wanted: WantedLabels,
  verb: 'label' | 'release',
): Labelled => {
  const { subject } = situation
  const seen = readHeld(subject.application, place)
  const { conflicts, ...difference } = labelDifference(seen, wanted)
  const object = objectKey(place.object)
  const reason = REASONS[labelsGoFirst ? 'release' : verb]
  const common = { object, manager: fieldManager(subject.application), reason, needs: [] } as const
  const due: Operation = { ...common, id: idOf(verb, object), verb, place, difference }
  return {
    touches: hasChanges(difference) ? [] : touching(situation, place.object),
    operations: hasChanges(difference) ? [due] : [],
    conflicts: conflicts.map((conflict) => ({ object, ...conflict })),
  }
}

const REASONS = { label: 'the labels are desired', release: 'the labels are not desired any more' }

/**
 * Plans the annotations of a pod template. They come after the files that they refer to, so that new pods find those files. Running pods
 * are never annotated, as that would restart nothing. The field manager is not that of the object's labels.
 */
const annotated = ({ subject, desired }: Situation, { object, path }: LabelLocation, wanted: Wanted): Labelled => {
  if (!isTemplate({ path })) return { touches: [], operations: [], conflicts: [] }
  const place = { object, path: [...path.slice(0, -1), 'annotations'] }
  const manager = annotationsManager(subject.application)
  const inherited = heldByWorkload(subject.application, place, Object.keys(wanted.labels))
  const { conflicts, ...difference } = diffLabels(place, { ...wanted, inherited }, manager)
  const name = objectKey(object)
  const operation: Operation = {
    ...{ id: idOf('annotate', name), object: name, manager },
    needs: desired.objects.filter(({ kind }) => kind === 'ConfigMap').map(applyOf),
    ...{ verb: 'annotate', place, difference, reason: 'the pods are to start with another file' },
  }
  return {
    touches: [],
    operations: hasChanges(difference) ? [operation] : [],
    conflicts: conflicts.map((conflict) => ({ object: name, ...conflict })),
  }
}

/** Removes repeated places. A former target may be the same object as a current one, or as another former one, under another name. */
const without = (places: readonly LabelLocation[], others: readonly LabelLocation[]): LabelLocation[] =>
  places.filter((place, index) => ![...others, ...places.slice(0, index)].some((other) => isSamePlace(place, other)))

const isSamePlace = (one: LabelLocation, other: LabelLocation): boolean =>
  one.object.metadata.uid === other.object.metadata.uid && one.path === other.path
