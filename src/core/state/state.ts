import * as z from 'zod'
import { Mark } from '../../platform/base/event-order.ts'
import { ObjectName } from '../../platform/base/names.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { isSameTarget, type LabelTarget, PreviousTarget } from '../../platform/kubernetes/label-target.ts'
import { Leader } from '../units/leader.ts'
import { LeaderSettings } from '../units/leader-settings.ts'
import { noUnits, Units } from '../units/units.ts'
import type { Config } from './config.ts'
import { Databags, isSameRelation, PublishedData, type Relation, RelationEntry, relationKey } from './relation.ts'

/** The version of what is stored: a higher one is left alone by those who do not know it. */
export const VERSION = 3
/** The kinds of objects that an application may own. */
export const OwnedKind = z.enum([
  'AuthorizationPolicy',
  'ConfigMap',
  'Deployment',
  'Gateway',
  'HorizontalPodAutoscaler',
  'Namespace',
  'PodDisruptionBudget',
  'Service',
  'ServiceAccount',
  'StatefulSet',
])
export type OwnedKind = z.infer<typeof OwnedKind>

/** The data that only the leader may change. */
export type ApplicationData = {
  config?: Config | undefined
  settings?: LeaderSettings | undefined
  databag?: Databags | undefined
}

/** Forgets units of the first form, without numbers; the next observation of the pods restores them. */
const earlierUnits = (units: unknown): unknown =>
  typeof units === 'object' && units !== null && !Object.hasOwn(units, 'present') ? noUnits() : units

/**
 * A part of the state. On removal of the application it is `kept`, `dropped`, or `told`: kept if sent after the removal. A state in
 * which no part counts needs no ConfigMap; an empty part never counts.
 */
export type StatePart<S extends z.ZodType = z.ZodType> = {
  readonly schema: S
  readonly onRemoval: 'kept' | 'told' | 'dropped'
  counts(value: NonNullable<z.output<S>>): boolean
}

/** Makes a part of a state. */
export const part = <S extends z.ZodType>(
  schema: S,
  onRemoval: StatePart['onRemoval'],
  counts: boolean | StatePart<S>['counts'] = false,
): StatePart<S> => ({ schema, onRemoval, counts: typeof counts === 'boolean' ? () => counts : counts })

/** A relation under another key would be a second one. */
const Relations = z
  .record(z.string(), RelationEntry)
  .refine((entries) => Object.entries(entries).every(([key, entry]) => key === relationKey(entry)), {
    error: 'expected relations by {id}/{role}/{interface}/[{namespace}/]{application}',
  })

/** The parts of a state that belong to no feature, with the schema of the config. */
export const commonState = (config: z.ZodType<Config>) => {
  const data = z.strictObject({
    config: config.optional(),
    settings: LeaderSettings.optional(),
    databag: Databags.optional(),
  })
  const asked = z.strictObject({ ...Leader.shape, data })
  return {
    version: part(z.literal(VERSION), 'dropped'),
    config: part(config.optional(), 'told', true),
    /** The ConfigMap document that holds the config. */
    document: part(ObjectName.optional(), 'dropped', true),
    /** Relations, including ended ones that are not forgotten yet. */
    relations: part(Relations, 'kept', true),
    /** Tombstones of unknown relations, by id. */
    tombstones: part(
      z
        .record(
          z.string(),
          z.strictObject({ position: Mark, endedAt: z.iso.datetime(), interface: z.string().optional() }),
        )
        .optional(),
      'kept',
      true,
    ),
    /** The memory was lost while the workload was on the mesh, and the requesting relation is not known yet. */
    recovering: part(z.literal(true).optional(), 'dropped', true),
    /** The memory was lost: the endpoints of the config whose relations are not known yet; while the config is not known, all but those known to have ended. */
    unknownEndpoints: part(
      z.union([z.array(z.string()), z.object({ ended: z.array(z.string()) })]).optional(),
      'dropped',
    ),
    /** The published data of this side, by hash: a beacon publishes the same to all. */
    published: part(z.record(z.string(), PublishedData).optional(), 'kept'),
    /** The application was removed, and has not come back since (RFC 3339). */
    removed: part(z.iso.datetime().optional(), 'kept', true),
    /** The condition awaited at all consumers: own labels before the namespace leaves the mesh, or none before the mesh goes. */
    awaiting: part(z.enum(['labels-applied', 'labels-removed']).optional(), 'dropped'),
    /** The beginnings of waits that no object dates, by what is held back. */
    waitingSince: part(z.record(z.string(), z.iso.datetime()).optional(), 'dropped'),
    /** A step is writing, or was interrupted: the next one writes to every object that it could still reach. */
    writeToken: part(z.string().optional(), 'kept'),
    leader: part(Leader.optional(), 'told', true),
    /** Data that a unit sent while nobody led, and before it those of `others`; applied if that very unit is elected. */
    pending: part(z.strictObject({ ...asked.shape, others: z.array(asked).optional() }).optional(), 'told', true),
    /** The application's own databag: its leader writes it, every unit may read it. */
    settings: part(LeaderSettings.optional(), 'told', true),
    /** Custom relation data that the leader sets. */
    databag: part(Databags.optional(), 'told', true),
    /** Observed only: pods restore them. */
    units: part(z.preprocess(earlierUnits, Units), 'dropped'),
    /** The last refusals of the API server: a hash of all, and the first by name with the reason. */
    refused: part(
      z.strictObject({ hash: z.string(), objects: z.record(z.string(), z.string()) }).optional(),
      'dropped',
    ),
    /** Write-ahead record of the owned kinds, by kind and group, saved before anything is applied. */
    owned: part(z.array(z.string()).optional(), 'kept', true),
    /** Kinds owned under an earlier config: an earlier step may still write them. */
    previouslyOwned: part(z.record(z.string(), z.iso.datetime()).optional(), 'kept', true),
    /** The last event about the `config`, the `settings`, the `databag`, the `leader`, and the removal of the `application`. */
    marks: part(
      z.partialRecord(z.enum(['config', 'settings', 'databag', 'leader', 'application']), Mark).optional(),
      'kept',
      true,
    ),
    /** Targets that carried labels under an earlier config. */
    previousTargets: part(z.array(PreviousTarget).optional(), 'kept', true),
  }
}

type Parts = ReturnType<typeof commonState>

/** The parts of a state by name, complete by type. */
export type StateParts = { readonly [name in keyof State]-?: StatePart }

/** The values of parts; optional ones may be absent. */
export type PartsOf<P extends Readonly<Record<string, StatePart>>> = z.infer<
  z.ZodObject<{ -readonly [name in keyof P]: P[name]['schema'] }>
>

/**
 * The persistent state of an application, and the only one. It is stored as JSON in the key `state` of its ConfigMap; each feature
 * merges its own parts into this type.
 */
export interface State extends PartsOf<Parts> {}

/** The parts of a state that other applications read. */
const SHOWN = [
  'version',
  'relations',
  'tombstones',
  'recovering',
  'published',
  'removed',
  'marks',
  'awaiting',
  'waitingSince',
] as const
export type PublicState = Pick<State, (typeof SHOWN)[number]>

const common = commonState(z.unknown() as never) // no part that is shown holds a config
/** The published part of a state, without all else. */
export const PublicState: z.ZodType<PublicState> = z.object({
  version: common.version.schema,
  relations: common.relations.schema,
  tombstones: common.tombstones.schema,
  recovering: common.recovering.schema,
  published: common.published.schema,
  removed: common.removed.schema,
  marks: common.marks.schema,
  awaiting: common.awaiting.schema,
  waitingSince: common.waitingSince.schema,
})

/** A state with its existing relations and their effective data, from which the desired state follows, whichever event brought it last. */
export type EffectiveState = Omit<State, 'relations' | 'marks'> & { relations: Readonly<Record<string, Relation>> }

const isNothing = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** Tells if the state holds nothing worth a ConfigMap. */
export const isEmptyState = (parts: StateParts, state: State): boolean =>
  (Object.keys(parts) as (keyof State)[]).every((name) => {
    const value = state[name]
    return isNothing(value) || !parts[name].counts(value as NonNullable<unknown>)
  })

/** Returns the data that the side of this state publishes in a relation. */
export const publishedIn = (
  { published }: Pick<State, 'published'>,
  entry: Pick<RelationEntry, 'published'>,
): PublishedData | undefined => {
  const digest = entry.published?.digest
  return digest === undefined ? undefined : ownValue(published, digest)
}

export const emptyState = (): State => ({ version: VERSION, relations: {}, units: noUnits() })

/** Tells if the relation exists as far as this side knows, and has its id: of two that were told of with one id the second waits. */
export const stands = (state: Pick<State, 'removed' | 'marks'>, entry: RelationEntry): boolean =>
  isEstablished(state, entry) && entry.waitsForId !== true

/** Returns the other relation that has the id of this one; an id is that of one relation at a time. */
export const idHolder = (
  { relations }: Pick<State, 'relations'>,
  relation: Pick<RelationEntry, 'id' | 'interface' | 'role' | 'remote'>,
): RelationEntry | undefined => {
  return Object.values(relations).find(
    (entry) => entry.id === relation.id && entry.waitsForId !== true && !isSameRelation(entry, relation),
  )
}

/**
 * Tells if the platform's last word is that the relation exists. Of a removed application only documents count, as long as they exist, and what
 * its own platform announced since, until a config brings it back.
 */
export const isEstablished = (
  { removed, marks }: Pick<State, 'removed' | 'marks'>,
  {
    status,
    announcedHere,
    position,
    document,
  }: Pick<RelationEntry, 'status' | 'announcedHere' | 'position' | 'document'>,
): boolean =>
  status === 'established' &&
  (removed === undefined || document !== undefined || (announcedHere && position.at > (marks?.application?.at ?? -1)))

/** Tells if the application was removed and has not come back. */
export const isRemoved = (state: State): boolean =>
  state.removed !== undefined && !Object.values(state.relations).some((entry) => stands(state, entry))

/** Tells if the config is unknown: it was never sent, or not since the memory was lost. */
export const isConfigUnknown = ({ config, removed }: Pick<State, 'config' | 'removed'>): boolean =>
  config === undefined && removed === undefined

/** Bounds the previous targets, each of which costs every step a read for a day. */
const MOST_PREVIOUS = 100

/** Replaces the previous targets, without current ones, each once with its first time. */
export const withPreviousTargets = (
  { previousTargets: _, ...state }: State,
  previous: readonly PreviousTarget[],
  targets: readonly LabelTarget[] = [],
): State => {
  const kept = previous
    .filter((target, index) => previous.findIndex((other) => isSameTarget(target, other)) === index)
    .filter((target) => !targets.some((other) => isSameTarget(target, other)))
    .slice(-MOST_PREVIOUS)
  return kept.length === 0 ? state : { ...state, previousTargets: kept }
}
