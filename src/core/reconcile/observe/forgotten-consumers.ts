import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { ifPermitted } from '../../../platform/kubernetes/api-error.ts'
import { readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { APPLICATION_LABEL, fieldManager, ownerSelector } from '../../../platform/kubernetes/ownership-labels.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { ENROLMENT_LABEL } from '../../relations/mesh-labels.ts'
import { remoteSubject } from '../../relations/peer-entry.ts'
import { readPeers } from '../../relations/peers.ts'
import type { State } from '../../state/state.ts'
import type { Observed } from './cluster.ts'

/**
 * Lists the applications that only the labels of the namespace keep on the mesh, and that the beacon does not know, although policies of theirs have its
 * name: the memories of both were lost. It looks only where these labels are about to go.
 */
export const forgottenConsumers = async (
  { isOfBeacon }: Pick<Mesh, 'isOfBeacon'>,
  kubernetes: Kubernetes,
  subject: Subject,
  { config, relations }: Pick<State, 'config' | 'relations'>,
  { owned }: Pick<Observed, 'owned'>,
): Promise<string[]> => {
  const { application, namespace } = subject
  const found = owned.namespace && 'object' in owned.namespace ? owned.namespace.object : undefined
  if (found === undefined || config?.mesh === undefined || config.mesh.modelOnMesh === true) return []
  const { own } = readLabels({ object: found, path: ['metadata', 'labels'] }, fieldManager(application)).holders
  if (own.size === 0) return []
  const policies = await ifPermitted(kubernetes.list('AuthorizationPolicy', namespace, ownerSelector({ namespace })))
  const owners = (policies ?? [])
    .filter((policy) => isOfBeacon(policy, subject))
    .flatMap(({ metadata }) => ownValue(metadata.labels, APPLICATION_LABEL) ?? [])
  const known = new Set(Object.values(relations).map((entry) => subjectName(remoteSubject(subject, entry))))
  const forgotten = [...new Set(owners)]
    .map((name) => ({ namespace, application: name }))
    .filter((owner) => owner.application !== application && !known.has(subjectName(owner)))
  return [...(await readPeers(kubernetes, forgotten))]
    .filter(([, peer]) => !('labels' in peer && Object.hasOwn(peer.labels, ENROLMENT_LABEL)))
    .map(([name]) => name)
    .toSorted()
}
