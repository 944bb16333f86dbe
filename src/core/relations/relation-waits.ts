import { type Condition, type Reason, waitFor } from '../../platform/base/condition.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { hasData, type Relation, relationName } from '../state/relation.ts'
import type { EffectiveState, State } from '../state/state.ts'
import { ENROLMENT_LABEL } from './mesh-labels.ts'
import { remoteSubject } from './peer-entry.ts'
import { type PeerView, peerView } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { requestedLabels } from './requested-labels.ts'
import { isSilentProvider } from './unknown.ts'

type Effective = { readonly state: Pick<EffectiveState, 'relations'> }

/** Returns the wait for the peer of a relation: for its data, or for it to leave. */
export const waitingFor = (subject: Subject, relation: Relation, { entry }: PeerView): Condition | undefined => {
  const remote = subjectName(remoteSubject(subject, relation))
  if (relation.source === 'unknown') {
    // a consumer with a memory publishes its request as soon as it has a config
    const isAsked = entry !== undefined && entry.published?.digest === undefined && relation.role === 'provides'
    const who = isAsked ? `${remote}, which needs its config, {} if it has none` : remote
    return relationWait(
      relation,
      remote,
      'PeerDataUnknown',
      `waiting for the data of ${who}; what was applied for it stays in effect`,
    )
  }
  return relation.standing === 'leaving'
    ? relationWait(relation, remote, 'PeerOnMesh', `waiting for ${remote} to leave the mesh`)
    : undefined
}

const relationWait = (
  relation: Pick<Relation, 'id' | 'endpoint'>,
  remote: string,
  reason: Reason,
  what: string,
): Condition => {
  const object = relationName(relation)
  return waitFor([remote], reason, object, `${object}: ${what}`)
}

/**
 * Lists the waits for providers that have yet to offer labels, if no other source does. Without these labels the application does not join
 * their mesh, or keeps its present labels.
 */
export const silentProviders = (
  subject: Subject,
  state: State,
  { state: { relations } }: Effective,
  peers: Peers,
  own: readonly string[],
): Condition[] => {
  const { config } = state
  const asking = [config?.labels ?? {}, ...Object.values(relations).map(requestedLabels)]
  if (asking.some((labels) => Object.hasOwn(labels, ENROLMENT_LABEL))) return []
  return Object.entries(relations).flatMap(([key, relation]) => {
    if (relation.source === 'unknown') return []
    const remote = subjectName(remoteSubject(subject, relation))
    if (own.includes(ENROLMENT_LABEL) && isSilentProvider(relation))
      return [relationWait(relation, remote, 'PeerDataUnknown', `waiting for the data of ${remote}; the labels stay`)]
    const asks = 'a beacon of meshstep does once its config has mesh'
    // a provider that does not know the relation yet may still offer labels
    return knows(subject, state, key, peers) && isMeshless(relation)
      ? [
          relationWait(
            relation,
            remote,
            'OffersNoLabels',
            `waiting for the labels of ${remote}, which asks for none: ${asks}`,
          ),
        ]
      : []
  })
}

/**
 * Lists the waits for beacons that do not know a relation yet. A step that has just told a beacon does not report this wait. Questions do,
 * if the beacon has not reacted.
 */
export const unawareBeacons = (
  subject: Subject,
  state: State,
  { state: { relations } }: Effective,
  peers: Peers,
): Condition[] =>
  Object.entries(relations).flatMap(([key, relation]) => {
    const { source, remote: told } = relation
    const isEmptied = source === 'platform' && !hasData(told)
    if (!isMeshless(relation) || isEmptied || source === 'unknown' || knows(subject, state, key, peers)) return []
    const remote = subjectName(remoteSubject(subject, relation))
    const ending = `its next event, or a resync of ${remote.split('/')[0]}, tells it`
    return [
      relationWait(
        relation,
        remote,
        'PeerLags',
        `waiting for ${remote}, which does not know of the relation yet: ${ending}`,
      ),
    ]
  })

/** Tells if the peer knows the relation as it is now. In its memory one that was established again may still be over, and then it has answered nothing yet. */
const knows = (subject: Subject, state: State, key: string, peers: Peers): boolean =>
  peerView(subject, state, key, peers).entry?.status === 'established'

/** Tells if the beacon of a relation has published no labels at all. With its whole namespace on the mesh it publishes an empty set. */
const isMeshless = ({ interface: name, role, remote }: Relation): boolean =>
  name === 'service_mesh' && role === 'requires' && !Object.hasOwn(remote.data, 'labels')
