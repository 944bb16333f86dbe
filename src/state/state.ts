import * as z from 'zod'
import { Mark } from '../base/event-order.ts'
import { ObjectName } from '../base/names.ts'
import { isSameTarget, type LabelTarget, PreviousTarget } from '../kubernetes/label-target.ts'
import { Leader } from '../units/leader.ts'
import { LeaderSettings } from '../units/leader-settings.ts'
import { noUnits, Units } from '../units/units.ts'
import type { Config } from './config.ts'
import { Databags, PublishedData, type Relation, RelationEntry } from './relation.ts'

/** The version of what is stored: a higher one is left alone by those who do not know it. */
export const VERSION = 2
/** Kinds of which an application may hold objects. */
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

/** What only the leader may change. */
export type ApplicationData = {
  config?: Config | undefined
  settings?: LeaderSettings | undefined
  databag?: Databags | undefined
}

/** Before pods had numbers they were a record by uid; the next look at the pods finds them again. */
const earlierUnits = (units: unknown): unknown =>
  typeof units === 'object' && units !== null && !Object.hasOwn(units, 'present') ? noUnits() : units

/**
 * A part of the state. `onRemoval` says what becomes of it when the application is removed: it is `kept`; it is `told`, and so kept if it was
 * told after the removal; or it is `dropped`. A memory of which no part counts is not worth a ConfigMap; one that is empty never does.
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

/** The parts of a state that belong to no feature, with the config as `config` reads it. */
export const commonState = (config: z.ZodType<Config>) => {
  const data = z.strictObject({
    config: config.optional(),
    settings: LeaderSettings.optional(),
    databag: Databags.optional(),
  })
  return {
    version: part(z.literal(VERSION), 'dropped'),
    config: part(config.optional(), 'told', true),
    /** The ConfigMap that the config is kept in. */
    document: part(ObjectName.optional(), 'dropped', true),
    /** By relation id, also those that have ended and are not forgotten yet. */
    relations: part(z.record(z.string(), RelationEntry), 'kept', true),
    /** Relations that ended before anything was known of them, by id. */
    tombstones: part(
      z
        .record(z.string(), z.strictObject({ mark: Mark, since: z.iso.datetime(), interface: z.string().optional() }))
        .optional(),
      'kept',
      true,
    ),
    /** The memory was lost while the workload was on the mesh, and what asked for that is not known yet. */
    carried: part(z.literal(true).optional(), 'dropped', true),
    /** What this side says in its relations, by hash: a beacon says the same to all. */
    says: part(z.record(z.string(), PublishedData).optional(), 'kept'),
    /** The application was removed, and has not come back since (RFC 3339). */
    removed: part(z.iso.datetime().optional(), 'kept', true),
    /** What has to be seen at all consumers first: labels of their own, before the namespace leaves the mesh; none, before the mesh goes. */
    awaits: part(z.enum(['carried', 'let-go']).optional(), 'dropped'),
    /** Some step writes to the cluster, or died over it: the next one writes to each object that it could still reach. */
    writing: part(z.string().optional(), 'kept'),
    leader: part(Leader.optional(), 'told', true),
    /** What was asked for while nobody led: the next leader's to do. */
    pending: part(z.strictObject({ ...Leader.shape, data }).optional(), 'told', true),
    /** The application's own databag: its leader writes it, every unit may read it. */
    settings: part(LeaderSettings.optional(), 'told', true),
    /** What the application says in its relations besides their protocols: its leader writes it. */
    databag: part(Databags.optional(), 'told', true),
    /** Only observed: they come back with the pods. */
    units: part(z.preprocess(earlierUnits, Units), 'dropped'),
    /** What the API server refused last, a hash of all of it, and the first by name with the reason. */
    refused: part(
      z.strictObject({ hash: z.string(), objects: z.record(z.string(), z.string()) }).optional(),
      'dropped',
    ),
    /** Written before anything is applied. */
    owned: part(z.array(OwnedKind).optional(), 'kept', true),
    /** Kinds that an earlier config had objects of: a step that began before may still write them. */
    formerlyOwned: part(z.partialRecord(OwnedKind, z.iso.datetime()).optional(), 'kept', true),
    /** The last event about the `config`, the `settings`, the `databag`, the `leader`, and the removal of the `application`. */
    marks: part(
      z.partialRecord(z.enum(['config', 'settings', 'databag', 'leader', 'application']), Mark).optional(),
      'kept',
      true,
    ),
    /** Where an earlier config held labels. */
    former: part(z.array(PreviousTarget).optional(), 'kept', true),
  }
}

type Parts = ReturnType<typeof commonState>

/** The parts of a state, by name; the type system sees to it that none is left out. */
export type StateParts = { readonly [name in keyof State]-?: StatePart }

/** The values of parts: what may be undefined may be absent. */
export type PartsOf<P extends Readonly<Record<string, StatePart>>> = z.infer<
  z.ZodObject<{ -readonly [name in keyof P]: P[name]['schema'] }>
>

/**
 * What is remembered of an application: the only memory there is. Stored as JSON in the key `state` of its ConfigMap. Each feature merges the
 * parts that it adds into this type.
 */
export interface State extends PartsOf<Parts> {}

/** The parts of a state that other applications go by. */
const SHOWN = ['version', 'relations', 'tombstones', 'carried', 'says', 'removed', 'marks', 'awaits'] as const
export type PublicState = Pick<State, (typeof SHOWN)[number]>

const common = commonState(z.unknown() as never) // no part that is shown holds a config
/** What other applications go by, without all else. */
export const PublicState: z.ZodType<PublicState> = z.object({
  version: common.version.schema,
  relations: common.relations.schema,
  tombstones: common.tombstones.schema,
  carried: common.carried.schema,
  says: common.says.schema,
  removed: common.removed.schema,
  marks: common.marks.schema,
  awaits: common.awaits.schema,
})

/** A state whose relations stand and have the data of their other sides: what everything that is desired follows from. */
export type EffectiveState = Omit<State, 'relations'> & { relations: Readonly<Record<string, Relation>> }

const isNothing = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** Whether nothing is remembered that is worth a ConfigMap. */
export const isEmptyState = (parts: StateParts, state: State): boolean =>
  (Object.keys(parts) as (keyof State)[]).every((name) => {
    const value = state[name]
    return isNothing(value) || !parts[name].counts(value as NonNullable<unknown>)
  })

export const emptyState = (): State => ({ version: VERSION, relations: {}, units: noUnits() })

/**
 * Whether the relation stands, as far as this side knows: its platform's last word says so. Of an application that was removed only what its
 * own platform has told it since does, until a config brings it back.
 */
export const stands = (
  { removed, marks }: Pick<State, 'removed' | 'marks'>,
  { word, mine, mark }: Pick<RelationEntry, 'word' | 'mine' | 'mark'>,
): boolean => word === 'told' && (removed === undefined || (mine && mark.at > (marks?.application?.at ?? -1)))

/** Whether the application was removed, and has not come back since. */
export const isRemoved = (state: State): boolean =>
  state.removed !== undefined && !Object.values(state.relations).some((entry) => stands(state, entry))

/** Whether nobody has told the config, or not since the memory was lost: what it asked for before is not known. */
export const isConfigUnknown = ({ config, removed }: Pick<State, 'config' | 'removed'>): boolean =>
  config === undefined && removed === undefined

/** Each costs every step a read for a day: a config that changes all the time must not make steps slow. */
const MOST_FORMER = 100

/** Replaces the former targets, less those that are targets (again), each once and as long ago as it was told first. */
export const withPreviousTargets = (
  { former: _, ...state }: State,
  former: readonly PreviousTarget[],
  targets: readonly LabelTarget[] = [],
): State => {
  const kept = former
    .filter((target, index) => former.findIndex((other) => isSameTarget(target, other)) === index)
    .filter((target) => !targets.some((other) => isSameTarget(target, other)))
    .slice(-MOST_FORMER)
  return kept.length === 0 ? state : { ...state, former: kept }
}
