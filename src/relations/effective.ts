import * as z from 'zod'
import { defined, ownValue } from '../base/own-value.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import { ENROLMENT_LABEL } from '../istio/names.ts'
import type { Interface, Versions } from '../state/config.ts'
import { type Databag, type PublishedData, type Relation, type RelationEntry, relationName } from '../state/relation.ts'
import { type EffectiveState, type State, stands } from '../state/state.ts'
import { selectCustomData } from './application-data.ts'
import { decodePayload } from './codec.ts'
import { readValue } from './databag.ts'
import { desiredMeshLabels } from './mesh-labels.ts'
import { findMirror, publishedHash, remoteSubject } from './mirror.ts'
import type { Peers, ReadablePeer } from './peers.ts'
import { SUPPORTED, spokenVersions } from './versions.ts'

/** The other side of a relation, as its memory has it. */
export type OtherSide = {
  readonly entry?: RelationEntry | undefined
  readonly said?: PublishedData | undefined
  /** The relation is over there: it has ended, or the application was removed. */
  readonly isOver: boolean
  /** The workload carries labels that the relation asked for; undefined where that is not known. */
  readonly holds?: boolean | undefined
  /** The workload is on the mesh, and by no other relation. */
  readonly isEnrolled?: true | undefined
  /** A hash of all that it shows of the relation. */
  readonly shows?: string | undefined
  /** Why the memory could not be read. */
  readonly problem?: string | undefined
}

/** The other side of the relation `key`; an application without a memory shows nothing, and nor does an alias. */
export const otherSide = (subject: Subject, state: State, key: string, peers: Peers): OtherSide => {
  const own = ownValue(state.relations, key)
  const peer = own && peers.get(subjectName(remoteSubject(subject, own)))
  if (peer === undefined) return { isOver: false }
  if ('unknown' in peer)
    return {
      isOver: false,
      ...(peer.unknown === 'unreadable' && { problem: peer.problem }),
      ...(peer.isGone && { holds: false }),
    }
  const entry = findMirror(subject, state, key, peer.state)
  if (entry === undefined) return { isOver: false, holds: Object.keys(peer.labels).length > 0 }
  return {
    entry,
    said: entry.says === undefined ? undefined : ownValue(peer.state.says, entry.says),
    // within the namespace its word is merged with ours, and the later counts
    isOver: !stands(peer.state, isNear(subject, peer.subject) ? { ...entry, word: 'told' } : entry),
    holds: entry.holds === true,
    ...(isEnrolledBy(entry, peer) && { isEnrolled: true }),
    get shows() {
      return publishedHash(peer.state, entry)
    },
  }
}

const isEnrolledBy = (entry: RelationEntry, { labels, state }: Pick<ReadablePeer, 'labels' | 'state'>): boolean =>
  Object.hasOwn(labels, ENROLMENT_LABEL) &&
  !Object.values(state.relations).some((other) => other !== entry && other.holds === true)

const isNear = (one: Subject, other: Subject): boolean => one.namespace === other.namespace

/** What the two sides of a relation agree on, in the flat keys of its interface; or why that cannot be told. */
export type RelationData = { data: Databag } | { incompatible: string } | { unreadable: string }

/**
 * The data of a relation: an application that speaks for itself goes before what a platform says of it. Whoever never asked for policies
 * leaves that to the platform: something else may run it, and ask for it.
 */
export const readData = (
  name: string,
  platform: Databag,
  said: Databag | undefined,
  versions: Versions = {},
): RelationData => {
  const data = { ...platform, ...said }
  const read = isVersioned(name) ? decodePayload(data, spokenVersions(name, versions)) : { data }
  if (!('data' in read) || !said || Object.hasOwn(said, 'policies') || !Object.hasOwn(platform, 'policies')) return read
  return { data: { ...read.data, policies: platform.policies } }
}

export const isVersioned = (name: string): name is Interface => Object.hasOwn(SUPPORTED, name)

/** The state that everything follows from, and of its relations those that are not what they seem: a sentence each. */
export type Effective = {
  readonly state: EffectiveState
  /** Both sides must speak a version in common first. */
  readonly blocked: readonly string[]
  readonly problems: readonly string[]
  /** What other applications have to do first, a sentence each. */
  readonly waiting: readonly string[]
  /** Relations whose other side is not known, not even from before: what was made for them stays. */
  readonly unknown: readonly Relation[]
}

/**
 * The relations that stand at both sides, with their data; where these cannot be read, the last readable ones are in effect. For a provider
 * a relation that is over stands until the requirer carries its labels no more.
 */
export const effective = (subject: Subject, state: State, peers: Peers): Effective => {
  const resolved = Object.entries(state.relations)
    .map(([key, entry]) => ({ key, entry, other: otherSide(subject, state, key, peers) }))
    .map((one) => ({ ...one, isOver: !stands(state, one.entry) || one.other.isOver }))
    .filter(({ entry, other, isOver }) => !isOver || isLeaving(entry, other))
    .map(({ key, entry, other, isOver }) => ({ key, other, ...resolve(entry, other, state, isOver) }))
  const { relations: _, ...others } = state
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
    waiting: resolved.flatMap(({ relation, read }) => waitingFor(subject, relation, 'data' in read) ?? []),
    unknown: resolved.flatMap(({ relation }) => (relation.isUnknown ? [relation] : [])),
  }
}

const STAYS = 'the last readable data stay in effect'

/** Whether the requirer may still carry the labels of a relation that is over: what was granted for them, perhaps before a memory was lost, is not revoked yet. */
const isLeaving = ({ granted, heard }: RelationEntry, { entry: theirs, holds }: OtherSide): boolean =>
  granted === undefined ? theirs?.holds === true : (holds ?? heard === true)

const waitingFor = (subject: Subject, relation: Relation, isReadable: boolean): string | undefined => {
  const remote = subjectName(remoteSubject(subject, relation))
  if (relation.isUnknown && isReadable)
    return `${relationName(relation)}: waiting for what ${remote} says; what was made for it stays`
  return relation.isLeaving ? `${relationName(relation)}: waiting for ${remote} to leave the mesh` : undefined
}

type Resolved = { relation: Relation; read: RelationData }

const resolve = (
  { remote, kept, heard, says, ...entry }: RelationEntry,
  { said }: OtherSide,
  { config, says: contents }: State,
  isOver: boolean,
): Resolved => {
  const read = readData(entry.interface, remote.data, said?.data, config?.versions)
  const own = says === undefined ? undefined : ownValue(contents, says)
  const data = 'data' in read ? read.data : (kept ?? {})
  const units = said?.units ?? remote.units
  const { id, endpoint, interface: name, role } = entry
  const isSilent = heard === true && said === undefined && !hasData(remote)
  const isUnknown = isSilent || (!('data' in read) && kept === undefined)
  const relation: Relation = defined({
    ...{ id, endpoint, interface: name, role, kept },
    remote: defined({ ...remote, data, units }),
    speaks: said && (true as const),
    isConfigured: own && !own.partial ? (true as const) : undefined,
    told: selectCustomData(entry.interface, said),
    isUnknown: isUnknown ? (true as const) : undefined,
    isLeaving: isOver ? (true as const) : undefined,
  })
  return { relation, read }
}

const hasData = ({ data, units }: RelationEntry['remote']): boolean =>
  Object.keys(data).length > 0 || Object.keys(units ?? {}).length > 0

/** Whether the relation asks its requirer for labels, and its provider for what these need. */
export const isEnrolling = ({ interface: name }: Pick<Relation, 'interface'>): boolean =>
  name === 'service_mesh' || name === 'cluster'

const Labels = z.record(z.string(), z.unknown())

/** The labels that a relation asks its requirer for. */
export const requestedLabels = ({ remote, interface: name }: Relation): Readonly<Record<string, unknown>> => {
  const labels = readValue(remote.data, name === 'cluster' ? 'worker_labels' : 'labels', Labels)
  return 'value' in labels ? (labels.value ?? {}) : {}
}

/** Whether a requirer has yet to take the labels of a relation, as far as it has seen itself. */
export const isUnenrolled = ({ holds, taking }: RelationEntry): boolean => !holds || taking === true

/** Whether a requirer that died, or was overtaken, over taking the labels of a relation has taken them: no other one brought them. */
const hasTakenLabels = (
  state: State,
  entry: RelationEntry,
  relation: Relation,
  labels: Readonly<Record<string, string>>,
) =>
  entry.taking === true &&
  !Object.values(state.relations).some((other) => other !== entry && other.holds) &&
  Object.entries(requestedLabels(relation)).some(([key, value]) => ownValue(labels, key) === value)

/**
 * A requirer takes the labels of a relation first when its provider has granted what it asks for; later changes do not wait, unless the
 * workload is bare: somebody else took its labels, or made it anew.
 */
export const gateEnrolment = (
  subject: Subject,
  state: State,
  resolved: Effective,
  peers: Peers,
  { labels, isBare }: { readonly labels: Readonly<Record<string, string>>; readonly isBare: boolean },
): Effective => {
  const relations = Object.entries(resolved.state.relations).map(([key, relation]) => {
    const entry = ownValue(state.relations, key)
    const isWaiting =
      entry?.role === 'requires' &&
      isEnrolling(entry) &&
      (isBare || isUnenrolled(entry)) &&
      relation.speaks &&
      !hasTakenLabels(state, entry, relation, labels)
    if (!isWaiting || isGranted(entry, otherSide(subject, state, key, peers))) return [key, relation] as const
    return [key, { ...relation, awaits: subjectName(remoteSubject(subject, relation)) }] as const
  })
  const awaiting = relations.flatMap(([, { awaits, ...relation }]) =>
    awaits === undefined ? [] : [`${relationName(relation)}: waiting for the policies of ${awaits}`],
  )
  return {
    ...resolved,
    state: { ...resolved.state, relations: Object.fromEntries(relations) },
    waiting: [
      ...resolved.waiting,
      ...awaiting,
      ...keptGrants(subject, state, peers),
      ...leavingWorkers(subject, state, resolved, peers).map((worker) => `waiting for ${worker} to leave the mesh`),
    ],
  }
}

/** Whether labels of some relation wait for its provider: what is carried for another one until then stays, also when that has ended. */
export const isAwaiting = ({ state: { relations } }: Effective): boolean =>
  Object.values(relations).some(
    (relation) =>
      relation.awaits !== undefined ||
      (isEnrolling(relation) && relation.role === 'requires' && !relation.speaks && !hasData(relation.remote)),
  )

/** The workers that are still on the mesh which their coordinator has left: until then they have to reach each other. */
export const leavingWorkers = (subject: Subject, state: State, resolved: Effective, peers: Peers): string[] => {
  if (state.config?.coordinator === undefined || desiredMeshLabels(resolved.state)) return []
  return Object.entries(state.relations).flatMap(([key, entry]) =>
    entry.interface === 'cluster' && otherSide(subject, state, key, peers).isEnrolled
      ? [subjectName(remoteSubject(subject, entry))]
      : [],
  )
}

/** What was granted to an application whose config is not known stays, until it is told again. */
const keptGrants = (subject: Subject, state: State, peers: Peers): string[] =>
  Object.entries(state.relations).flatMap(([key, entry]) => {
    const granted = otherSide(subject, state, key, peers).entry?.granted
    const isKept = granted !== undefined && granted !== NOTHING_ASKED && entry.says === undefined
    if (!isKept || state.config !== undefined || state.removed !== undefined || entry.role !== 'requires') return []
    return [
      `${relationName(entry)}: waiting for the config of ${subjectName(subject)}; what was granted for it before stays`,
    ]
  })

/** What is granted to whoever has not said what it asks for. */
export const NOTHING_ASKED = '-'

const isGranted = ({ says }: RelationEntry, { entry }: OtherSide): boolean =>
  entry?.granted !== undefined && entry.granted !== CHANGING && (says === undefined || entry.granted === says)

/** What a provider says while it revokes. */
export const CHANGING = 'changing'
