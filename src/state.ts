import * as z from 'zod'
import { Application, Config, Namespace, ObjectName } from './config.ts'
import { Announced } from './services/announced.ts'
import { deploymentOf, isPodWorkload } from './workload/config.ts'
import { LeaderSettings } from './workload/leader-settings.ts'
import { SpecHistory } from './workload/loop.ts'
import { noUnits, Units } from './workload/units.ts'

/** The application a step is about. */
export type Subject = { readonly namespace: string; readonly application: string }

/** Where labels are held. `Workload` is a StatefulSet, else a Deployment; on `pods`, not on the template but on those that run. */
export const Target = z.strictObject({
  kind: z.enum(['Workload', 'StatefulSet', 'Deployment', 'Service', 'Pod']),
  name: ObjectName,
  on: z.literal('pods').optional(),
})
export type Target = z.infer<typeof Target>

/** Where labels were held until `since`. It is looked at for a while yet: a step that began before may still write there. */
export const FormerTarget = z.strictObject({ ...Target.shape, since: z.iso.datetime() })
export type FormerTarget = z.infer<typeof FormerTarget>

/** Databag values are JSON values or, as in Juju, strings that hold JSON: `databag.ts` reads both. */
export const Databag = z.record(z.string(), z.unknown())
export type Databag = z.infer<typeof Databag>

/** The remote side of a relation, as its last event told it. */
export const Remote = z.strictObject({
  application: Application,
  namespace: Namespace.optional(),
  endpoint: z.string().min(1).optional(),
  data: Databag,
  units: z.record(z.string(), Databag).optional(),
  /** Told by the remote application itself: the hash of what it heard last from here. */
  heard: z.string().max(64).optional(),
})

export const RelationIdentity = z.strictObject({
  id: z.int().nonnegative(),
  endpoint: z.string().min(1).max(253),
  interface: z.string().min(1).max(253),
  role: z.enum(['provides', 'requires', 'peers']),
})

export const Relation = z.strictObject({
  ...RelationIdentity.shape,
  remote: Remote,
  /** The ConfigMap that it is kept in. */
  document: ObjectName.optional(),
  /** What the remote application published itself; it goes before what others say of it. */
  published: z
    .strictObject({
      data: Databag,
      units: z.record(z.string(), Databag).optional(),
      hash: z.string(),
      /** It asked for policies, now or before. */
      asked: z.literal(true).optional(),
    })
    .optional(),
  /** The last values that could be read, of keys that cannot be read now. */
  kept: Databag.optional(),
})
export type Relation = z.infer<typeof Relation>

/** The last `sequence` or `time` accepted from each source, and since when what it was about is gone (RFC 3339). */
export const Accepted = z.strictObject({
  bySource: z.record(z.string(), z.string()),
  gone: z.iso.datetime().optional(),
  /** The source that said first that it is gone. */
  goneBy: z.string().optional(),
})
export type Accepted = z.infer<typeof Accepted>

/** What a remote application was told about one relation, and accepted. */
export const Published = z.strictObject({
  ...RelationIdentity.shape,
  to: z.strictObject({ namespace: Namespace, application: Application }),
  /** Of what was published; absent when it is to be published again. */
  hash: z.string().optional(),
  /** Of the memory that it follows from. */
  generation: z.int().nonnegative().optional(),
  /** It was not told all there is to tell, as something is missing for that. */
  partial: z.literal(true).optional(),
})
export type Published = z.infer<typeof Published>

/** Kinds of which an application may hold objects. */
export const OwnedKind = z.enum([
  'AuthorizationPolicy',
  'ConfigMap',
  'Deployment',
  'Gateway',
  'HorizontalPodAutoscaler',
  'Namespace',
  'Service',
  'ServiceAccount',
  'StatefulSet',
])
export type OwnedKind = z.infer<typeof OwnedKind>

export const Leader = z.strictObject({ unit: z.string().min(1), epoch: z.int().nonnegative().optional() })
export type Leader = z.infer<typeof Leader>

/** What only the leader may change. */
export const ApplicationData = z.strictObject({ config: Config.optional(), settings: LeaderSettings.optional() })
export type ApplicationData = z.infer<typeof ApplicationData>

/** Before pods had numbers they were a record by uid; the next look at the pods finds them again. */
const earlierUnits = (units: unknown): unknown =>
  typeof units === 'object' && units !== null && !Object.hasOwn(units, 'present') ? noUnits() : units

/** What is remembered of an application: the only memory there is. Stored as JSON in the key `state` of its ConfigMap. */
export const State = z.strictObject({
  version: z.literal(1),
  /** Grows with each write, also over a memory that was lost: the sequence of what is published. */
  generation: z.int().nonnegative().optional(),
  config: Config.optional(),
  /** By relation id, or by `{namespace}/{application}/{id}` where only the remote application told of it. */
  relations: z.record(z.string(), Relation),
  leader: Leader.optional(),
  /** What was asked for while nobody led: the next leader's to do. */
  pending: z.strictObject({ ...Leader.shape, data: ApplicationData }).optional(),
  /** The application's own databag: its leader writes it, every unit may read it. */
  settings: LeaderSettings.optional(),
  units: z.preprocess(earlierUnits, Units),
  /** The pod specs that the application was given. */
  specs: SpecHistory.optional(),
  /** Why the API server refuses the pod spec. */
  refusedSpec: z.string().optional(),
  /** What was announced of the Services that are offered to the application. */
  announced: Announced.optional(),
  /** By the key of the relation, also of those that are gone until the remote side knows. */
  published: z.record(z.string(), Published).optional(),
  /** Written before anything is applied. */
  owned: z.array(OwnedKind).optional(),
  /** What orders events: by what they are about, `config`, `leader`, `application` or `relation/7`. */
  accepted: z.record(z.string(), Accepted),
  /** Labels written by the charm library, held until they are no longer desired. */
  inherited: z.record(z.string(), z.string()).optional(),
  /** Where an earlier config held labels. */
  former: z.array(FormerTarget).optional(),
  /** Seen when no kind is configured and it is not the StatefulSet that is looked for first. */
  workloadKind: z.literal('Deployment').optional(),
})
export type State = z.infer<typeof State>

export const emptyState = (): State => ({ version: 1, relations: {}, units: noUnits(), accepted: {} })

/** The relations in the order of their ids, which no order of events can change. */
export const relationsIn = ({ relations }: Pick<State, 'relations'>): (Relation & { key: string })[] =>
  Object.entries(relations)
    .map(([key, relation]) => ({ ...relation, key }))
    .toSorted((one, other) => one.id - other.id || (one.key < other.key ? -1 : 1))

/** How a relation is named in messages. */
export const relationName = ({ id, endpoint }: Pick<Relation, 'id' | 'endpoint'>): string =>
  `relation ${id} (${endpoint})`

/** Whether nothing is remembered that is worth a ConfigMap. Units are only observed: they come back with the pods. */
export const isEmpty = ({ config, leader, pending, ...state }: State): boolean => {
  const {
    relations,
    accepted,
    settings = {},
    announced,
    inherited = {},
    former = [],
    published = {},
    owned = [],
  } = state
  const parts = [relations, accepted, settings, announced?.relations ?? {}, inherited, former, published, owned]
  return (
    [config, leader, pending].every((part) => part === undefined) &&
    parts.every((part) => Object.keys(part).length === 0)
  )
}

/** Whether the application was removed not long ago, and nothing has come of it since. */
export const isRemoved = ({ config, relations, accepted }: State): boolean =>
  accepted.application?.gone !== undefined && config === undefined && Object.keys(relations).length === 0

/** Where the labels of an application belong, in the order in which they are applied. */
export const targetsOf = (application: string, config: Config = {}): Target[] => {
  const { workload, service = defaultService(config), enrolment } = config
  const { kind, name = application } = workloadIn(config) ?? { kind: 'Workload' as const }
  const onWorkload: Target = enrolment === 'in-place' ? { kind, name, on: 'pods' } : { kind, name }
  return [
    ...(workload === null ? [] : [onWorkload]),
    ...(service === null ? [] : [{ kind: 'Service' as const, name: service ?? application }]),
  ]
}

/** The workload that the config names, or that is ours and so has a kind and the application's name. */
const workloadIn = ({ workload }: Config): { kind: 'StatefulSet' | 'Deployment'; name?: string } | undefined => {
  if (!workload || !isPodWorkload(workload)) return workload ?? undefined
  return { kind: deploymentOf(workload).type === 'stateful' ? 'StatefulSet' : 'Deployment' }
}

/** A workload of ours may be meant to have no Service. */
const defaultService = ({ workload }: Config): null | undefined =>
  workload && isPodWorkload(workload) && deploymentOf(workload).service === 'omit' ? null : undefined

export const isSameTarget = (one: Target, other: Target): boolean =>
  one.kind === other.kind && one.name === other.name && one.on === other.on

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
