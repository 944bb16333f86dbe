import * as z from 'zod'
import { Mark } from '../base/event-order.ts'
import { ObjectName } from '../base/names.ts'
import { Config } from '../config.ts'
import { FormerTarget, isSameTarget, type Target } from '../kubernetes/label-target.ts'
import { Announced } from '../services/announced.ts'
import { Leader } from '../units/leader.ts'
import { LeaderSettings } from '../units/leader-settings.ts'
import { noUnits, Units } from '../units/units.ts'
import { SpecHistory } from '../workload/churn/history.ts'
import { deploymentOf, isPodWorkload } from '../workload/config.ts'
import { DataChurn } from '../workload/data-churn.ts'
import { Databags, type Relation, RelationEntry, Said } from './relation.ts'

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
export const ApplicationData = z.strictObject({
  config: Config.optional(),
  settings: LeaderSettings.optional(),
  databag: Databags.optional(),
})
export type ApplicationData = z.infer<typeof ApplicationData>

/** Before pods had numbers they were a record by uid; the next look at the pods finds them again. */
const earlierUnits = (units: unknown): unknown =>
  typeof units === 'object' && units !== null && !Object.hasOwn(units, 'present') ? noUnits() : units

/** What is remembered of an application: the only memory there is. Stored as JSON in the key `state` of its ConfigMap. */
export const State = z.strictObject({
  version: z.literal(VERSION),
  config: Config.optional(),
  /** The ConfigMap that the config is kept in. */
  document: ObjectName.optional(),
  /** By relation id, also those that have ended and are not forgotten yet. */
  relations: z.record(z.string(), RelationEntry),
  /** Relations that ended before anything was known of them, by id. */
  tombstones: z
    .record(z.string(), z.strictObject({ mark: Mark, since: z.iso.datetime(), interface: z.string().optional() }))
    .optional(),
  /** The memory was lost while the workload was on the mesh, and what asked for that is not known yet. */
  carried: z.literal(true).optional(),
  /** What this side says in its relations, by hash: a beacon says the same to all. */
  says: z.record(z.string(), Said).optional(),
  /** The application was removed, and has not come back since (RFC 3339). */
  removed: z.iso.datetime().optional(),
  /** What has to be seen at all consumers first: labels of their own, before the namespace leaves the mesh; none, before the mesh goes. */
  awaits: z.enum(['carried', 'let-go']).optional(),
  /** Some step writes to the cluster, or died over it: the next one writes to each object that it could still reach. */
  writing: z.string().optional(),
  leader: Leader.optional(),
  /** What was asked for while nobody led: the next leader's to do. */
  pending: z.strictObject({ ...Leader.shape, data: ApplicationData }).optional(),
  /** The application's own databag: its leader writes it, every unit may read it. */
  settings: LeaderSettings.optional(),
  /** What the application says in its relations besides their protocols: its leader writes it. */
  databag: Databags.optional(),
  /** How often units change these, and what of it is held back. */
  dataChurn: DataChurn.optional(),
  units: z.preprocess(earlierUnits, Units),
  /** The pod specs that the application was given. */
  specs: SpecHistory.optional(),
  /** Why the API server refuses the pod spec. */
  refusedSpec: z.string().optional(),
  /** What the API server refused last, a hash of all of it, and the first by name with the reason. */
  refused: z.strictObject({ hash: z.string(), objects: z.record(z.string(), z.string()) }).optional(),
  /** What was announced of the Services that are offered to the application. */
  announced: Announced.optional(),
  /** Written before anything is applied. */
  owned: z.array(OwnedKind).optional(),
  /** Kinds that an earlier config had objects of: a step that began before may still write them. */
  formerlyOwned: z.partialRecord(OwnedKind, z.iso.datetime()).optional(),
  /** The last event about the `config`, the `settings`, the `databag`, the `leader`, and the removal of the `application`. */
  marks: z.partialRecord(z.enum(['config', 'settings', 'databag', 'leader', 'application']), Mark).optional(),
  /** Labels written by the charm library, held until they are no longer desired. */
  inherited: z.record(z.string(), z.string()).optional(),
  /** Where an earlier config held labels. */
  former: z.array(FormerTarget).optional(),
  /** Seen when no kind is configured and it is not the StatefulSet that is looked for first. */
  workloadKind: z.literal('Deployment').optional(),
})
export type State = z.infer<typeof State>

/** What of a state other applications go by. */
export const Shown = z.object(
  State.pick({
    version: true,
    relations: true,
    tombstones: true,
    carried: true,
    says: true,
    removed: true,
    marks: true,
    awaits: true,
  }).shape,
)
export type Shown = z.infer<typeof Shown>

/** A state whose relations stand and have the data of their other sides: what everything that is desired follows from. */
export type EffectiveState = Omit<State, 'relations'> & { relations: Readonly<Record<string, Relation>> }

export const emptyState = (): State => ({ version: VERSION, relations: {}, units: noUnits() })
/** Whether nothing is remembered that is worth a ConfigMap. Units are only observed: they come back with the pods. */
export const isEmpty = ({ config, leader, pending, removed, document, carried, ...state }: State): boolean => {
  const { relations, marks = {}, tombstones = {}, formerlyOwned = {} } = state
  const { settings = {}, databag = {}, announced, inherited = {}, former = [], owned = [] } = state
  const parts = [relations, marks, tombstones, formerlyOwned, settings, databag, announced?.relations ?? {}, inherited]
  return (
    [config, leader, pending, removed, document, carried].every((part) => part === undefined) &&
    [...parts, former, owned].every((part) => Object.keys(part).length === 0)
  )
}

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

/** Where the labels of an application belong, in the order in which they are applied. */
export const targetsOf = (application: string, config: Config = {}): Target[] => {
  const { workload, service = defaultService(config), enrolment } = config
  const { kind, name = application } = workloadIn(config) ?? { kind: 'Workload' as const }
  const onWorkload: Target = enrolment === 'in-place' ? { kind, name, on: 'pods' } : { kind, name }
  const services = [...(service === null ? [] : [service ?? application]), ...namedServices(application, config)]
  return [...(workload === null ? [] : [onWorkload]), ...services.map((name) => ({ kind: 'Service' as const, name }))]
}

/** Each costs every step a read, here and at the beacon. */
const MOST_NAMED_SERVICES = 20

/** The Services that policies name, besides the one to label: without the waypoint's label nothing would enforce what is granted there. */
export const namedServices = (application: string, config: Config = {}): string[] => {
  const { policies = [], service = defaultService(config) } = config
  const named = policies.flatMap((policy) => (policy.type === 'app' ? [policy.service || application] : []))
  const own = service === null ? undefined : (service ?? application)
  return [...new Set(named)].filter((name) => name !== own).slice(0, MOST_NAMED_SERVICES)
}

/** The workload that the config names, or that is ours and so has a kind and the application's name. */
const workloadIn = ({ workload }: Config): { kind: 'StatefulSet' | 'Deployment'; name?: string } | undefined => {
  if (!workload || !isPodWorkload(workload)) return workload ?? undefined
  return { kind: deploymentOf(workload).type === 'stateful' ? 'StatefulSet' : 'Deployment' }
}

/** A workload of ours may be meant to have no Service. */
const defaultService = ({ workload }: Config): null | undefined =>
  workload && isPodWorkload(workload) && deploymentOf(workload).service === 'omit' ? null : undefined
/** Each costs every step a read for a day: a config that changes all the time must not make steps slow. */
const MOST_FORMER = 100

/** Replaces the former targets, less those that are targets (again), each once and as long ago as it was told first. */
export const withFormer = (
  { former: _, ...state }: State,
  former: readonly FormerTarget[],
  targets: readonly Target[] = [],
): State => {
  const kept = former
    .filter((target, index) => former.findIndex((other) => isSameTarget(target, other)) === index)
    .filter((target) => !targets.some((other) => isSameTarget(target, other)))
    .slice(-MOST_FORMER)
  return kept.length === 0 ? state : { ...state, former: kept }
}
