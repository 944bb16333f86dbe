import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import { objectKey } from '../../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import type { Order } from './order.ts'
import { labelled, type PlannedLabels } from './plan-labels.ts'
import type { Situation } from './situation.ts'
import { waitsForConfig } from './stays.ts'

/** `isKept`: the labels stay for consumers without labels of their own. */
type PlannedNamespace = PlannedLabels & { readonly isKept: boolean }

const NOTHING: PlannedNamespace = { touches: [], operations: [], conflicts: [], waiting: [], isKept: false }

/** Plans the labels of the namespace. They stay while consumers depend on them. */
export const planNamespace = (situation: Situation, order: Order): PlannedNamespace => {
  const { features, subject, state, unknown, isClaimAwaited, labelsAwaited, observed } = situation
  const { namespace } = observed.owned
  if (namespace === undefined || 'problem' in namespace || namespace.object === undefined) return NOTHING
  const place = { object: namespace.object, path: ['metadata', 'labels'] }
  const seen = readLabels(place, fieldManager(subject.application))
  const isLabelled = seen.holders.own.size > 0
  if (unknown.config) return { ...NOTHING, waiting: waitsForConfig(situation, isLabelled) }
  const mesh = state.config?.mesh
  // the whole namespace joins, or switches to another waypoint, once all consumers let in whom they mean to then
  if (mesh && isClaimAwaited) return { ...NOTHING, isKept: mesh.modelOnMesh !== true && isLabelled }
  const isKept = mesh !== undefined && labelsAwaited.length > 0 && isLabelled
  const { conflict, ...labels } = features.mesh.namespaceLabels(subject, state.config, seen, observed.lookups, isKept)
  const { touches, operations, conflicts } = labelled(situation, order, place, { ...labels, unknown: [] }, 'label')
  return {
    ...NOTHING,
    touches,
    operations,
    conflicts: [...(conflict ? [{ object: objectKey(place.object), ...conflict }] : []), ...conflicts],
    isKept,
  }
}

/** Returns the wait of a namespace whose labels stay. */
export const namespaceWait = ({ subject, labelsAwaited }: Situation, { isKept }: PlannedNamespace): Condition[] => {
  const object = `Namespace ${subject.namespace}`
  const message = `${object} ${STAYS_ON}: waiting for ${labelsAwaited.join(', ')}`
  return isKept ? [waitFor(labelsAwaited, 'PeerLags', object, message)] : []
}

const STAYS_ON = 'stays on the mesh until its applications carry labels of their own'
