import { ownValue } from '../base/own-value.ts'
import { isSameSubject, type Subject, subjectName } from '../base/subject.ts'
import type { Mesh } from '../feature/mesh.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { hasWorkload } from '../kubernetes/workloads.ts'
import { hasTombstone } from '../relations/announcements.ts'
import { otherSide } from '../relations/effective.ts'
import { remoteSubject } from '../relations/mirror.ts'
import { type Peers, readPeers } from '../relations/peers.ts'
import { type RelationEntry, requesterName } from '../state/relation.ts'
import { isEstablished, type PublicState, type State, stands } from '../state/state.ts'
import type { Observed } from './observed.ts'

/** A requester, as it is named on a policy: `relation 7 (service-mesh) of shop/details`. */
const REQUESTER = /^relation (\d+) \(.*\) of ([^/]+)\/([^/]+)$/

/**
 * The requesters on the policies of a beacon of which it is not known what they ask for: memories may have been lost. While nothing is known
 * of an application that runs, what was granted to it stays.
 */
export const unknownRequesters = async (
  { requestersOf }: Pick<Mesh, 'requestersOf'>,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  peers: Peers,
  { owned }: Observed,
): Promise<string[]> => {
  if (state.config?.mesh === undefined) return []
  const names = new Set(owned.kinds.flatMap(({ live = [] }) => live.flatMap(requestersOf)))
  const unheard = [...names].flatMap((name) => {
    const [, id = '', namespace = '', application = ''] = REQUESTER.exec(name) ?? []
    const requester = { namespace, application }
    return id === '' || isHeard(subject, state, peers, id) || isSameSubject(subject, requester)
      ? []
      : [{ name, id: Number(id), requester }]
  })
  const silent = await Promise.all(
    unheard.map(async (one) => ((await isSilent(kubernetes, subject, state, one, peers)) ? [one.name] : [])),
  )
  return [...muteRequesters(subject, state, peers), ...silent.flat()]
}

/** Tells if the consumer's requests are known, also after the relation is over: its labels go before its guards do. */
const isHeard = (subject: Subject, state: State, peers: Peers, id: string): boolean => {
  const { data } = ownValue(state.relations, id)?.remote ?? {}
  const { published } = otherSide(subject, state, id, peers)
  return Object.keys(data ?? {}).length > 0 || (published !== undefined && !published.partial)
}

/** The consumers that have said nothing yet, not even that they ask for nothing: their config is not known, or not any more. */
const muteRequesters = (subject: Subject, state: State, peers: Peers): string[] =>
  Object.entries(state.relations).flatMap(([key, entry]) => {
    const isConsumer = entry.interface === 'service_mesh' && entry.role === 'provides' && stands(state, entry)
    const { entry: theirs, published, isOver } = otherSide(subject, state, key, peers)
    const isMute = (theirs?.says === undefined || published?.partial) && Object.keys(entry.remote.data).length === 0
    return isConsumer && theirs !== undefined && !isOver && isMute ? [requesterName(subject, entry)] : []
  })

/**
 * Tells if the application has a workload but no memory, or a lost memory that knows no relations yet, or knows of no relation with any beacon
 * where the beacon knows of no end either, or carries labels of the beacon and has not said what it asks for.
 */
const isSilent = async (
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  { id, requester }: { readonly id: number; readonly requester: Subject },
  peers: Peers,
): Promise<boolean> => {
  const known = peers.get(subjectName(requester))
  const [peer] = known ? [known] : await readPeers(kubernetes, [requester])
  if (peer === undefined) return false
  if ('state' in peer)
    return (
      peer.state.carried === true ||
      hasYetToTell(subject, requester, state, peer.state, id) ||
      Object.values(peer.state.relations).some(
        (entry) =>
          entry.interface === 'service_mesh' &&
          entry.holds === true &&
          entry.says === undefined &&
          isSameSubject(remoteSubject(requester, entry), subject),
      )
    )
  return peer.unknown === 'unreadable' || (await hasWorkload(kubernetes, requester))
}

/**
 * Tells if neither side of a grant knows what became of its relation, as both lost their memories: an application that the namespace keeps on the mesh
 * carries no label that would say so. Where the requester has been told of the relation since, this side has yet to read it.
 */
const hasYetToTell = (subject: Subject, requester: Subject, state: State, theirs: PublicState, id: number): boolean => {
  const isWithSubject = (entry: RelationEntry) =>
    isEstablished(theirs, entry) && isSameSubject(remoteSubject(requester, entry), subject)
  return (
    theirs.removed === undefined &&
    enrolmentsIn(theirs).every(isWithSubject) &&
    !hasTombstone(theirs, id) &&
    !hasTombstone(state, id) &&
    !enrolmentsIn(state).some((entry) => isSameSubject(remoteSubject(subject, entry), requester))
  )
}

const enrolmentsIn = ({ relations }: PublicState): RelationEntry[] =>
  Object.values(relations).filter((entry) => entry.interface === 'service_mesh')
