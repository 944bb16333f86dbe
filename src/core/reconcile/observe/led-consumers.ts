import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { ifPermitted } from '../../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { isLive } from '../../../platform/kubernetes/pods.ts'
import { NAME_LABEL } from '../../../platform/kubernetes/services.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { isBetween } from '../../relations/peer-entry.ts'
import { type Peers, type ReadablePeer, readPeers } from '../../relations/peers.ts'
import { takesLabels } from '../../relations/requested-labels.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import type { Observed } from './cluster.ts'

/**
 * Lists the applications whose pods are led to the waypoint of a former beacon, and that have no memory, one that was lost, or one that does not know
 * why, as it was restored from before. The waypoint stays for them. Those with a memory say by their claims what they carry.
 */
export const ledConsumers = async (
  mesh: Pick<Mesh, 'isBasis' | 'ledBy'>,
  kubernetes: Kubernetes,
  subject: Subject,
  { state: { config }, unknown }: ResolvedRelations,
  peers: Peers,
  { owned }: Observed,
): Promise<string[]> => {
  const hasWaypoint = owned.kinds.some(({ live = [] }) => live.some(mesh.isBasis))
  if (!hasWaypoint || unknown.config || config?.mesh !== undefined) return []
  const listed = async (namespace: string | undefined) =>
    await ifPermitted(kubernetes.list('Pod', namespace, mesh.ledBy(subject)))
  const pods = (await listed(undefined)) ?? (await listed(subject.namespace)) ?? []
  const led = pods.filter(isLive).map(({ metadata: { namespace = '', labels } }) => ({
    namespace,
    application: ownValue(labels, NAME_LABEL) ?? '',
  }))
  const consumers = new Map(led.map((one) => [subjectName(one), one]))
  consumers.delete(subjectName(subject))
  const unread = [...consumers.values()].filter((one) => !peers.has(subjectName(one)))
  const read = await readPeers(kubernetes, unread)
  return [...consumers.keys()]
    .filter((name) => {
      const peer = peers.get(name) ?? read.get(name)
      return peer === undefined || !('state' in peer) || peer.state.lost?.labels === true || !knowsWhy(subject, peer)
    })
    .toSorted()
}

/** Tells if an application knows its relation with the beacon, or one with a coordinator, which hands on the labels and claims them for its workers. */
const knowsWhy = (beacon: Subject, { subject, state }: { readonly subject: Subject } & ReadablePeer): boolean =>
  Object.values(state.relations)
    .filter(takesLabels)
    .some((entry) => entry.interface === 'cluster' || isBetween(entry, subject, beacon))
