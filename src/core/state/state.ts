import * as z from 'zod'
import { compareMarks, Mark } from '../../platform/base/event-order.ts'
import { ObjectName } from '../../platform/base/names.ts'
import { changed, defined, ownValue } from '../../platform/base/own-value.ts'
import { isSameTarget, type LabelTarget, PreviousTarget } from '../../platform/kubernetes/label-target.ts'
import { Leader, type Pending } from '../units/leader.ts'
import { LeaderSettings } from '../units/leader-settings.ts'
import { noUnits, Units } from '../units/units.ts'
import type { Config } from './config.ts'
import { Databags, isSameRelation, PublishedData, type Relation, RelationEntry, relationKey } from './relation.ts'

/** The version of stored states. A program leaves memories with another version untouched. */
export const VERSION = 7
/** The data that only the leader may change. */
export type ApplicationData = {
  config?: Config | undefined
  settings?: LeaderSettings | undefined
  databag?: Databags | undefined
}

/**
 * A part of the state. When the application is removed, a part is `kept`, `dropped`, or `told`: kept only if it was sent after the removal.
 * A state in which no part counts needs no ConfigMap. An empty part never counts.
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

/** The relations by key. An entry under a wrong key would be a second relation. */
const Relations = z
  .record(z.string(), RelationEntry)
  .refine((entries) => Object.entries(entries).every(([key, entry]) => key === relationKey(entry)), {
    error: 'expected relations by {id}/{role}/{interface}/[{namespace}/]{application}',
  })

/** The parts of a state that belong to no feature. `config` is the schema of the config. */
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
    /** The ConfigMap document with the config. */
    document: part(ObjectName.optional(), 'dropped', true),
    /** Relations, including ended ones that are not forgotten yet. */
    relations: part(Relations, 'kept', true),
    /** Ends of unknown relations, by id. */
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
    /** Set after the memory was lost, until everything is known again. Labels alone are worth a ConfigMap: they keep the application on the mesh. */
    lost: part(
      z
        .strictObject({
          /** The workload was on the mesh, and the relation that requested its labels is not known yet. */
          labels: z.literal(true).optional(),
          /** The endpoints of the config whose relations are not known yet. */
          endpoints: z.array(z.string()).optional(),
          /** In their place, while there is no config: the endpoints that are known to have ended. */
          ended: z.array(z.string()).optional(),
        })
        .optional(),
      'dropped',
      ({ labels }) => labels === true,
    ),
    /** The published data of this side, by hash, because a beacon publishes the same data to all consumers. */
    published: part(z.record(z.string(), PublishedData).optional(), 'kept'),
    /** The application was removed at this time, and has not come back since (RFC 3339). */
    removed: part(z.iso.datetime().optional(), 'kept', true),
    /**
     * The condition awaited of all consumers or workers: labels of their own before the namespace leaves the mesh, policies by the present offer before all
     * else is denied, or no labels before the mesh is removed.
     */
    awaiting: part(z.enum(['labels-applied', 'claims-applied', 'labels-removed']).optional(), 'dropped'),
    /** The beginnings of waits without a date of their own, by the name of the held part. */
    waitingSince: part(z.record(z.string(), z.iso.datetime()).optional(), 'dropped'),
    /**
     * Set while a step is writing, or after it was interrupted. The next step writes to every object that the other one could still write.
     */
    writeToken: part(z.string().optional(), 'kept'),
    leader: part(Leader.optional(), 'told', true),
    /** Data that units sent while there was no leader, in the order of their last events. They are applied if that unit is elected. */
    pending: part(z.array(asked).optional(), 'told', true),
    /** Data that the leader shares with the units of its own application, as in the databag of a peer relation in Juju. */
    settings: part(LeaderSettings.optional(), 'told', true),
    /** Custom relation data that the leader sets. */
    databag: part(Databags.optional(), 'told', true),
    /** The units that run, with their reports and databags. A lost one is restored by its pod. */
    units: part(Units, 'dropped'),
    /** The last refusals of the API server, by object or call, with the reason. Where the labels of a namespace are refused, consumers get their own. */
    refused: part(z.record(z.string(), z.string()).optional(), 'dropped'),
    /**
     * The write-ahead record of the owned kinds, by kind and group, saved before anything is applied. With a time, the kind was released
     * then: a step that began earlier may still write such objects.
     */
    owned: part(z.record(z.string(), z.iso.datetime().nullable()).optional(), 'kept', true),
    /** The marks of the last event about the `config`, the `settings`, the `databag` and the `leader`, and of the removal of the `application`. */
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

/** The parts of a state by name. The type requires all of them. */
export type StateParts = { readonly [name in keyof State]-?: StatePart }

/** The values of parts. Optional ones may be absent. */
export type PartsOf<P extends Readonly<Record<string, StatePart>>> = z.infer<
  z.ZodObject<{ -readonly [name in keyof P]: P[name]['schema'] }>
>

/**
 * The persistent state of an application, and the only one. It is stored as JSON in the key `state` of its ConfigMap. Each feature merges
 * its own parts into this type.
 */
export interface State extends PartsOf<Parts> {}

/** The parts of a state that other applications read. */
const SHOWN = ['version', 'relations', 'tombstones', 'lost', 'published', 'removed', 'marks', 'awaiting'] as const
export type PublicState = Pick<State, (typeof SHOWN)[number]>

const common = commonState(z.unknown() as never) // no part that is shown holds a config
/** The published part of a state. */
export const PublicState = z.object(
  Object.fromEntries(SHOWN.map((name) => [name, common[name].schema])),
) as never as z.ZodType<PublicState> // by SHOWN, these schemas parse a PublicState

/** The state with existing relations and their effective data. The desired state follows from it, regardless of the last event. */
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

/** Applies accepted data. A config brings a removed application back, and sets its document. */
export const withData = (state: State, data: ApplicationData, document?: string): State => {
  if (data.config === undefined) return { ...state, ...data }
  const { removed: _r, document: _d, ...others } = state
  return defined({ ...others, document, ...data })
}

/** Lists the configs of a state: the one in effect, and those that wait for a leader. */
export const configsIn = ({ config, pending = [] }: Pick<State, 'config' | 'pending'>): Config[] =>
  [config, ...pending.map(({ data }) => data.config)].filter((one) => one !== undefined)

export const emptyState = (): State => ({ version: VERSION, relations: {}, units: noUnits() })

/** The word of a memory on a relation: it counts, it waits because another relation has its id, or it is over. */
export type Word = 'established' | 'waiting' | 'over'

/**
 * Returns what a memory says of a relation. For a removed application, only relations of existing documents count, and those that the
 * platform announced since, to either side, until a config brings the application back.
 */
export const wordOf = (
  { removed, marks }: Pick<State, 'removed' | 'marks'>,
  { status, position, document, waitsForId }: Pick<RelationEntry, 'status' | 'position' | 'document' | 'waitsForId'>,
): Word => {
  const isThere = removed === undefined || document !== undefined || isAfterRemoval(position, marks?.application)
  if (status === 'ended' || !isThere) return 'over'
  return waitsForId ? 'waiting' : 'established'
}

/** Tells if a relation counts by the memory of one side. */
export const stands = (state: Pick<State, 'removed' | 'marks'>, entry: RelationEntry): boolean =>
  wordOf(state, entry) === 'established'

/** Returns the other relation that has the id. Only one relation has an id at a time. */
export const idHolder = (
  { relations }: Pick<State, 'relations'>,
  relation: Pick<RelationEntry, 'id' | 'interface' | 'role' | 'remote'>,
): RelationEntry | undefined =>
  Object.values(relations).find(
    (entry) => entry.id === relation.id && entry.waitsForId !== true && !isSameRelation(entry, relation),
  )

const isAfterRemoval = (position: Mark, removal: Mark | undefined): boolean =>
  removal === undefined || compareMarks(position, removal) > 0

/** Tells if the application was removed and has not come back. */
export const isRemoved = (state: State): boolean =>
  state.removed !== undefined && !Object.values(state.relations).some((entry) => stands(state, entry))

/** The limit of units with pending data. Senders that name another unit with every event must not fill the memory. */
const MOST_PENDING = 16

/** Replaces the pending data. Empty ones are dropped. */
export const withPending = <S extends Pick<State, 'pending'>>(
  state: S,
  all: readonly Pending<ApplicationData>[],
): S => {
  const pending = all.filter(({ data }) => Object.keys(data).length > 0).slice(-MOST_PENDING)
  return changed(state, { pending: pending.length === 0 ? undefined : pending } as Partial<S>)
}

/** The limit of previous targets. Each costs every step a read for a day. */
const MOST_PREVIOUS = 100

/** Replaces the previous targets: without current ones, each once with its first time. */
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
