import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { fieldManagersAt } from '../../../platform/kubernetes/field-managers.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import { isOver } from '../../../platform/kubernetes/pods.ts'
import { NAME_LABEL } from '../../../platform/kubernetes/services.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { remoteSubject } from '../../relations/peer-entry.ts'
import type { Peers } from '../../relations/peers.ts'
import { relationsWith } from '../../relations/select.ts'
import { type EffectiveState, stands } from '../../state/state.ts'
import { type Observed, unlessForbidden } from './cluster.ts'

/**
 * Lists the consumers, and their workers, whose pods run without labels of their own on a mesh that no longer covers the whole namespace.
 * The namespace labels keep these pods on the mesh until a rollout replaces them. All consumers are listed if pods cannot be.
 */
export const listBare = async (
  { enrolment }: Pick<Mesh, 'enrolment'>,
  kubernetes: Kubernetes,
  subject: Subject,
  { config, relations }: EffectiveState,
  peers: Peers,
  { owned: { namespace: read } }: Pick<Observed, 'owned'>,
): Promise<string[]> => {
  const namespace = read && 'object' in read ? read.object : undefined
  if (config?.mesh === undefined || config.mesh.modelOnMesh || namespace === undefined) return []
  const { own } = fieldManagersAt(namespace, ['metadata', 'labels'], fieldManager(subject.application))
  const near = relationsWith(relations, { interface: 'service_mesh', role: 'provides' })
    .filter(({ isLeaving }) => !isLeaving)
    .map((relation) => remoteSubject(subject, relation))
    .flatMap((consumer) => [consumer, ...workersOf(consumer, peers)])
    .filter((one) => one.namespace === subject.namespace)
  if (near.length === 0 || !own.has(enrolment.key)) return []
  const pods = await unlessForbidden(
    kubernetes.list('Pod', subject.namespace, `!${enrolment.key}`, { trim: NAME_OF_RUNNING }),
  )
  if ('problem' in pods) return near.map(subjectName)
  const names = new Set(pods.value.map(({ metadata }) => ownValue(metadata.labels, NAME_LABEL)))
  return near.filter(({ application }) => names.has(application)).map(subjectName)
}

/** Reduces pods to the names of their applications, because a namespace may run many. */
const NAME_OF_RUNNING = {
  name: 'name of running',
  of: (pod: KubernetesObject): KubernetesObject | undefined => {
    const { apiVersion, kind, metadata } = pod
    const application = ownValue(metadata.labels, NAME_LABEL)
    const labels: Record<string, string> = application === undefined ? {} : { [NAME_LABEL]: application }
    return isOver(pod) ? undefined : { apiVersion, kind, metadata: { name: metadata.name, labels } }
  },
}

/** Lists the workers of a coordinator, as far as its memory can be read. */
const workersOf = (coordinator: Subject, peers: Peers): Subject[] => {
  const peer = peers.get(subjectName(coordinator))
  if (peer === undefined || 'unknown' in peer) return []
  return Object.values(peer.state.relations)
    .filter((entry) => entry.interface === 'cluster' && entry.role === 'provides' && stands(peer.state, entry))
    .map((entry) => remoteSubject(coordinator, entry))
}
