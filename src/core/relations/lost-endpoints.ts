import { changed } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Wait } from '../../platform/base/wait.ts'
import { listedPolicies } from '../policies/models.ts'
import { type State, stands } from '../state/state.ts'
import { isBetween, oppositeIdentity } from './peer-entry.ts'
import { hasPublished } from './peer-view.ts'
import type { Peers } from './peers.ts'

/** Tells if a peer has observed data of this application in a relation that its platform has not ended. Without a memory, this application has then lost it. */
export const isKnownToPeers = (subject: Subject, peers: Peers): boolean =>
  [...peers.values()].some(
    (peer) =>
      'state' in peer &&
      Object.values(peer.state.relations).some(
        (entry) => entry.status === 'established' && hasPublished(entry) && isBetween(entry, peer.subject, subject),
      ),
  )

/** Lists the endpoints of this application's relations that peers know to be over. */
export const endpointsEndedByPeers = (subject: Subject, peers: Peers): string[] =>
  [...peers.values()].flatMap((peer) =>
    'state' in peer
      ? Object.values(peer.state.relations)
          .filter((entry) => !stands(peer.state, entry) && isBetween(entry, peer.subject, subject))
          .map((entry) => oppositeIdentity(entry).endpoint)
      : [],
  )

/**
 * Updates the endpoints whose relations are unknown since the memory was lost: those in the first config after the loss, without those that
 * have a relation, or are known to be over. Until there is a config, the endpoints in `ended` are collected, because peers that know of an
 * end are not read again.
 */
export const withUnknownEndpoints = (state: State, isLost: boolean, ended: readonly string[]): State => {
  const { config, removed, relations } = state
  const unknown = state.unknownEndpoints ?? (isLost ? { ended: [] } : undefined)
  if (unknown === undefined || removed !== undefined) return changed(state, { unknownEndpoints: undefined })
  const over = 'ended' in unknown ? new Set([...unknown.ended, ...ended]) : new Set(ended)
  if (config === undefined) return changed(state, { unknownEndpoints: { ended: [...over] } })
  const known = over.union(new Set(Object.values(relations).map(({ endpoint }) => endpoint)))
  const named = new Set(listedPolicies(config.policies).map(({ relation }) => relation))
  const left = [...named].filter(
    (endpoint) => !known.has(endpoint) && ('ended' in unknown || unknown.includes(endpoint)),
  )
  return changed(state, { unknownEndpoints: left.length === 0 ? undefined : left })
}

/** Lists the waits for relations of endpoints that are unknown since the memory was lost. */
export const awaitedEndpoints = ({ unknownEndpoints }: Pick<State, 'unknownEndpoints'>): Wait[] =>
  !Array.isArray(unknownEndpoints)
    ? []
    : unknownEndpoints.map((endpoint) => ({
        held: `the grants of endpoint ${endpoint}`,
        for: [`a relation of endpoint ${endpoint}`],
        message: `${KEPT}: waiting for a relation of endpoint ${endpoint}; tell it, or tell it and then its end`,
      }))

const KEPT = 'what was granted before the memory was lost stays in effect'
