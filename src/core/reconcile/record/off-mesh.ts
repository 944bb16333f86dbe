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
 * Returns the waits for pods that should be on the mesh, and cannot be enrolled by labels: they run in the network of their node, which no
 * mesh captures, or a label of their own opts them out of their namespace's mesh.
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

/** Tells if the application is meant to be on a mesh: by its own labels, or because its beacon enrolled the whole namespace. */
const isMeantForMesh = ({ mesh: { enrolment }, state, desired }: Meant): boolean =>
  ownValue(desired.labels, enrolment.key) === enrolment.value ||
  relationsWith(state.relations, { interface: 'service_mesh', role: 'requires' }).some(
    (relation) => relation.publishes && !relation.isLeaving && !relation.isUnknown && relation.awaits === undefined,
  )

const hostNetworkReason = (pod: PodLike): string | undefined =>
  isOnHost(pod)
    ? 'they run in the network of their node (hostNetwork), where nothing captures them: take hostNetwork out of their template'
    : undefined

/** Returns the reason of a pod's own label. If a relation requests another value, the wait for labels reports it. */
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
