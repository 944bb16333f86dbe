import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { nameOf } from '../../../platform/kubernetes/objects.ts'
import { type PodLike, podTemplate } from '../../../platform/kubernetes/pod-like.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import type { Capture, Mesh } from '../../feature/mesh.ts'
import { relationsWith } from '../../state/relation.ts'
import type { EffectiveState } from '../../state/state.ts'
import type { Running } from '../observe/units.ts'

type Meant = {
  readonly mesh: Pick<Mesh, 'capture' | 'enrolment'>
  readonly subject: Subject
  readonly state: Pick<EffectiveState, 'relations'>
  readonly desired: Pick<DesiredLabels, 'labels' | 'overruled'>
}

/**
 * Returns the waits for pods that should be on the mesh, and that it does not capture, or may not capture: because of where they run, of a label or an
 * annotation of their own, or because it has not marked them as captured.
 */
export const offMeshWaits = (meant: Meant, { workload, pods = [], unowned = [], isMarking }: Running): Condition[] => {
  if (!isMeantForMesh(meant)) return []
  const { mesh, subject, desired } = meant
  const { key, value } = mesh.enrolment
  const { namespace } = subject
  const made: readonly PodLike[] = [...(workload ? [podTemplate(workload)] : []), ...pods, ...unowned]
  const of = workload ? nameOf({ ...workload.metadata, kind: workload.kind, namespace }) : subjectName(subject)
  // without a label of its own, it is on the mesh with its namespace
  const labels = ownValue(desired.labels, key) === value ? {} : { [key]: value }
  const found = made.flatMap((pod) => messageOf(meant, mesh.capture(pod, { labels, isMarking })) ?? [])
  return [...new Set(found)].map((message) => waitFor([of], 'PodsOffMesh', of, `pods of ${of} ${message}`))
}

/** Words the capture of a pod. If the label of a relation has no effect, the waits for labels report it. */
const messageOf = ({ mesh, desired }: Meant, capture: Capture): string | undefined => {
  if (capture.is === 'on') return undefined
  if (capture.is === 'unknown') return `may be off the mesh: ${capture.why}`
  const { key, value } = mesh.enrolment
  const isTold = ownValue(desired.labels, key) === value || desired.overruled?.some((one) => one.key === key)
  return capture.because === 'label' && isTold ? undefined : `are off the mesh: ${capture.why}`
}

/** Tells if the application is meant to be on a mesh: by its own labels, or because its beacon enrolled the whole namespace. */
const isMeantForMesh = ({ mesh: { enrolment }, state, desired }: Meant): boolean =>
  ownValue(desired.labels, enrolment.key) === enrolment.value ||
  relationsWith(state.relations, { interface: 'service_mesh', role: 'requires' }).some(
    ({ source, standing }) => source === 'peer' && standing === 'established',
  )
