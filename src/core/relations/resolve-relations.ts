import { defined } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Wait } from '../../platform/base/wait.ts'
import { hasData, isEmptied, type Relation, type RelationEntry, relationName } from '../state/relation.ts'
import { type EffectiveState, publishedIn, type State, stands } from '../state/state.ts'
import { selectCustomData } from './application-data.ts'
import { sharedIds } from './ids.ts'
import { remoteSubject } from './peer-entry.ts'
import { mayCarryLabels, type PeerView, peerView } from './peer-view.ts'
import type { Peers } from './peers.ts'
import { type RelationData, readData } from './relation-data.ts'
import { isEnrolling } from './requested-labels.ts'

/** The state with each relation's effective data, and the problems found. */
export type ResolvedRelations = {
  readonly state: EffectiveState
  /** The sides have no version in common. */
  readonly blocked: readonly string[]
  readonly problems: readonly string[]
  /** Waits for other applications. */
  readonly waiting: readonly Wait[]
  /** Relations with unknown data. Labels and objects that were applied for them stay. */
  readonly unknown: readonly Relation[]
  /**
   * Ended relations with beacons whose labels this application still carries. It publishes its requests in them until the labels are gone.
   */
  readonly departing: Readonly<Record<string, Relation>>
}

/**
 * Resolves the effective data of all relations. The last readable data replace unreadable ones. For a provider, an ended relation remains
 * until its requirer has removed its labels.
 */
export const resolveRelations = (subject: Subject, state: State, peers: Peers): ResolvedRelations => {
  const all = Object.entries(state.relations)
    .map(([key, entry]) => ({ key, entry, other: peerView(subject, state, key, peers) }))
    .map((one) => ({ ...one, isOver: !stands(state, one.entry) || one.other.isOver }))
  const resolveOne = ({ key, entry, other, isOver }: (typeof all)[number]) => ({
    ...{ key, other },
    ...resolve(entry, other, state, isOver),
  })
  const resolved = all.filter(({ entry, other, isOver }) => !isOver || isLeaving(entry, other)).map(resolveOne)
  const departing = all.filter(({ entry, isOver }) => isOver && isDeparting(state, entry)).map(resolveOne)
  const { relations: _, marks: _m, ...others } = state
  return {
    state: { ...others, relations: Object.fromEntries(resolved.map(({ key, relation }) => [key, relation])) },
    blocked: resolved.flatMap(({ relation, read }) =>
      'incompatible' in read
        ? [`${relationName(relation)}: ${relation.interface}: ${read.incompatible}; ${STAYS}`]
        : [],
    ),
    problems: resolved.flatMap(({ relation, read, other }) => [
      ...('unreadable' in read ? [`${relationName(relation)}: ${read.unreadable}; ${STAYS}`] : []),
      ...(other.problem === undefined ? [] : [`${relationName(relation)}: ${other.problem}`]),
    ]),
    waiting: [
      ...resolved.flatMap(({ relation, read, other }) => waitingFor(subject, relation, 'data' in read, other) ?? []),
      ...sharedIds(subject, state, peers),
    ],
    unknown: resolved.flatMap(({ relation }) => (relation.isUnknown ? [relation] : [])),
    departing: Object.fromEntries(departing.map(({ key, relation }) => [key, relation])),
  }
}

/** Adds the departing relations: the application publishes in them as well. */
export const withDeparting = (resolved: ResolvedRelations): ResolvedRelations => {
  const { state, departing } = resolved
  if (Object.keys(departing).length === 0) return resolved
  return { ...resolved, state: { ...state, relations: { ...departing, ...state.relations } } }
}

/** Tells if a consumer still carries labels of an ended relation, and has a config to compute its request from. */
const isDeparting = ({ config, removed }: State, { interface: name, role, labels }: RelationEntry): boolean =>
  name === 'service_mesh' &&
  role === 'requires' &&
  labels !== undefined &&
  config !== undefined &&
  removed === undefined

const STAYS = 'the last readable data stays in effect'

/**
 * Tells if the requirer of an ended relation may still carry its labels. With a grant it may, unless its memory says otherwise. Without
 * one, only if its memory says so. A requirer calls such a relation departing, its provider calls it leaving.
 */
const isLeaving = (entry: RelationEntry, other: PeerView): boolean =>
  entry.grant === undefined ? other.entry?.labels !== undefined : mayCarryLabels(entry, other)

const waitingFor = (
  subject: Subject,
  relation: Relation,
  isReadable: boolean,
  { entry }: PeerView,
): Wait | undefined => {
  const remote = subjectName(remoteSubject(subject, relation))
  if (relation.isUnknown && isReadable) {
    // a consumer with a memory publishes its request as soon as it has a config
    const isAsked = entry !== undefined && entry.published?.digest === undefined && relation.role === 'provides'
    const who = isAsked ? `${remote}, which needs its config, {} if it has none` : remote
    return relationWait(relation, remote, `waiting for the data of ${who}; what was applied for it stays in effect`)
  }
  return relation.isLeaving ? relationWait(relation, remote, `waiting for ${remote} to leave the mesh`) : undefined
}

export const relationWait = (relation: Pick<Relation, 'id' | 'endpoint'>, remote: string, what: string): Wait => {
  const held = relationName(relation)
  return { held, for: [remote], message: `${held}: ${what}` }
}

const flag = (isSet: boolean): true | undefined => isSet || undefined

type Resolved = { relation: Relation; read: RelationData }

const resolve = (
  entry: RelationEntry,
  { entry: theirs, published, labels }: PeerView,
  state: State,
  isOver: boolean,
): Resolved => {
  const { remote, lastReadable } = entry
  const read = readData(entry.interface, remote.data ?? {}, published?.data, state.config?.versions)
  const own = publishedIn(state, entry)
  const isRequest = own !== undefined && entry.role === 'requires' && isEnrolling(entry)
  const requested = isRequest ? readData(entry.interface, own.data, undefined) : undefined
  const data = 'data' in read ? read.data : (lastReadable ?? {})
  const units = published?.units ?? remote.units
  const { id, endpoint, interface: name, role } = entry
  const isSilent = entry.peer?.publishes === true && published === undefined && !hasData(remote)
  const isUnknown = isSilent || (!('data' in read) && lastReadable === undefined)
  const relation: Relation = defined({
    ...{ id, endpoint, interface: name, role, lastReadable },
    emptied: flag(isEmptied(entry)),
    remote: defined({ ...remote, data, units }),
    publishes: flag(published !== undefined),
    isPartial: published?.partial,
    peerLabels: labels,
    isConfigured: flag(own !== undefined && !own.partial),
    requested: requested && 'data' in requested ? requested.data : undefined,
    ...ownDataIn(entry, theirs),
    customData: selectCustomData(entry.interface, published),
    isUnknown: flag(isUnknown),
    isLeaving: flag(isOver),
  })
  return { relation, read }
}

/** Returns the databag of this side as the peer was told, and its last readable values. What is told in another namespace needs no right in this one, and does not count. */
const ownDataIn = (
  { remote: { namespace } }: RelationEntry,
  theirs: RelationEntry | undefined,
): Pick<Relation, 'ownData' | 'ownLastReadable'> =>
  namespace === undefined && theirs ? { ownData: theirs.remote.data, ownLastReadable: theirs.lastReadable } : {}
