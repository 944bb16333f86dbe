import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { changed, ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { listedPolicies } from '../policies/models.ts'
import { hasData, type RelationEntry } from '../state/relation.ts'
import type { State } from '../state/state.ts'
import { isBetween, remoteSubject } from './peer-entry.ts'
import { hadMemory } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { takesLabels } from './requested-labels.ts'
import type { ResolvedRelations } from './resolve-relations.ts'
import type { Over } from './told/ends.ts'
import { withEntries } from './told/entries.ts'

/** Tells if a peer has observed data of this application in a relation that its platform has not ended. Without a memory, this application has then lost it. */
export const isKnownToPeers = (subject: Subject, peers: Peers): boolean =>
  wasSeen(subject, peers, ({ status }) => status === 'established')

/** Tells if a beacon has observed data of this application, also in a relation that is over. Without a memory, this application has then lost it. */
export const wasConsumer = (subject: Subject, peers: Peers): boolean =>
  wasSeen(subject, peers, ({ interface: name, role }) => name === 'service_mesh' && role === 'provides')

const wasSeen = (subject: Subject, peers: Peers, isMeant: (entry: RelationEntry) => boolean): boolean =>
  [...peers.values()].some(
    (peer) =>
      'state' in peer &&
      Object.values(peer.state.relations).some(
        (entry) => isMeant(entry) && hadMemory(entry) && isBetween(entry, peer.subject, subject),
      ),
  )

/** Changes what a lost memory knew and is not known again. Nothing is lost any more if nothing of it is left. */
export const withLost = (state: State, changes: Partial<NonNullable<State['lost']>>): State => {
  const lost = changed(state.lost ?? {}, changes)
  return changed(state, { lost: Object.keys(lost).length === 0 ? undefined : lost })
}

/**
 * Restores the claims of a memory that was lost while the workload was on the mesh. Its labels are kept until their relation, or the end of
 * it, is known, because nothing guards the application off the mesh. An ended relation counts as carried until the labels are gone.
 */
export const withLostLabels = (state: State): State =>
  withLost(
    withEntries(state, (entry) => (takesLabels(entry) ? recovered(entry) : undefined)),
    { labels: true },
  )

/** Marks the labels as carried. A provider of which the platform tells no data may have published them itself, so its data are unknown. */
const recovered = ({ peer, claim, remote }: RelationEntry) =>
  ({
    claim: claim ?? { version: '', phase: 'applied' },
    ...(!hasData(remote) && { peer: { ...peer, publishes: true as const } }),
  }) as const

/**
 * Lists the providers of relations whose effect on the application's labels is known: labels, none any more, or none because it is over. An
 * element is undefined for a coordinator, because its labels are those of its beacon.
 */
export const knownEnrolments = (
  subject: Subject,
  state: State,
  { state: { relations } }: ResolvedRelations,
): (Subject | undefined)[] =>
  Object.entries(state.relations)
    .filter(([key, entry]) => takesLabels(entry) && ownValue(relations, key)?.source !== 'unknown')
    .map(([, entry]) => (entry.interface === 'service_mesh' ? remoteSubject(subject, entry) : undefined))

/**
 * Updates the endpoints whose relations are unknown since the memory was lost: those in the first config after the loss, without those that
 * have a relation, or are known to be over. Until there is a config, endpoints that are known to be over are collected, because peers that know of
 * an end are not read again.
 */
export const withLostEndpoints = (state: State, isLost: boolean, over: readonly Over[]): State => {
  const { config, removed, relations, lost } = state
  const { endpoints, ended } = lost ?? {}
  if (endpoints === undefined && ended === undefined && !isLost) return state
  if (removed !== undefined) return withLost(state, { endpoints: undefined, ended: undefined })
  const known = new Set([...(ended ?? []), ...over.flatMap(({ endpoint }) => endpoint ?? [])])
  if (config === undefined) return withLost(state, { endpoints: undefined, ended: [...known] })
  for (const { endpoint } of Object.values(relations)) known.add(endpoint)
  const named = new Set(listedPolicies(config.policies).map(({ relation }) => relation))
  const left = [...named].filter((endpoint) => !known.has(endpoint) && (endpoints?.includes(endpoint) ?? true))
  return withLost(state, { endpoints: left.length === 0 ? undefined : left, ended: undefined })
}

/** Lists the waits for relations of endpoints that are unknown since the memory was lost. */
export const awaitedEndpoints = ({ lost }: Pick<State, 'lost'>): Condition[] =>
  (lost?.endpoints ?? []).map((endpoint) =>
    waitFor(
      [`a relation of endpoint ${endpoint}`],
      'MemoryLost',
      `the grants of endpoint ${endpoint}`,
      `${KEPT}: waiting for a relation of endpoint ${endpoint}; tell it, or tell it and then its end`,
    ),
  )

const KEPT = 'what was granted before the memory was lost stays in effect'
