import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Wait } from '../../../platform/base/wait.ts'
import { nameOf } from '../../../platform/kubernetes/objects.ts'
import { isOnHost, type PodLike, podLabels, podTemplate } from '../../../platform/kubernetes/pod-like.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { relationsWith } from '../../relations/select.ts'
import type { EffectiveState } from '../../state/state.ts'
import type { Running } from '../observe/units.ts'

type Meant = {
  readonly mesh: Pick<Mesh, 'enrolment'>
  readonly subject: Subject
  readonly state: Pick<EffectiveState, 'relations'>
  readonly desired: Pick<DesiredLabels, 'labels' | 'overruled'>
}

/**
 * Returns the wait for pods of an application on the mesh that no label of ours brings there: they run in the network of their node, where no
 * mesh captures them, or a label of their own keeps them out of the mesh of their namespace.
 */
export const offMeshWaits = (meant: Meant, { workload, pods = [], unowned = [] }: Running): Wait[] => {
  if (!isMeantForMesh(meant)) return []
  const { namespace } = meant.subject
  const made: readonly PodLike[] = [...(workload ? [podTemplate(workload)] : []), ...pods, ...unowned]
  const of = workload ? nameOf({ ...workload.metadata, kind: workload.kind, namespace }) : subjectName(meant.subject)
  return [hostNetworkReason, optOutReason(meant)].flatMap((reasonOf): Wait[] => {
    const reason = made.map(reasonOf).find((one) => one !== undefined)
    return reason === undefined
      ? []
      : [{ held: `the mesh of the pods of ${of}`, for: [of], message: `pods of ${of} are off the mesh: ${reason}` }]
  })
}

/** Tells if its labels put the application on a mesh, or a beacon that has done so for the whole namespace. */
const isMeantForMesh = ({ mesh: { enrolment }, state, desired }: Meant): boolean =>
  ownValue(desired.labels, enrolment.key) === enrolment.value ||
  relationsWith(state.relations, { interface: 'service_mesh', role: 'requires' }).some(
    (relation) => relation.publishes && !relation.isLeaving && !relation.isUnknown && relation.awaits === undefined,
  )

const hostNetworkReason = (pod: PodLike): string | undefined =>
  isOnHost(pod)
    ? 'they run in the network of their node (hostNetwork), where nothing captures them: take hostNetwork out of their template'
    : undefined

/** A label that a relation asks for otherwise is told where labels are. */
const optOutReason =
  ({ mesh: { enrolment }, desired: { labels, overruled = [] } }: Meant) =>
  (pod: PodLike): string | undefined => {
    const { key, value: on } = enrolment
    const value = ownValue(podLabels(pod), key)
    const isTold = ownValue(labels, key) === on || overruled.some((one) => one.key === key)
    return value === undefined || value === on || isTold
      ? undefined
      : `${key}=${value} keeps them out of the mesh of their namespace: take the label out of the config or the template`
  }
