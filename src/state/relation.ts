import * as z from 'zod'
import { Mark } from '../base/event-order.ts'
import { Application, Namespace, ObjectName } from '../base/names.ts'
import type { Subject } from '../base/subject.ts'
import { LeaderSettings } from '../units/leader-settings.ts'

/** Databag values are JSON values or, as in Juju, strings that hold JSON: `databag.ts` reads both. */
export const Databag = z.record(z.string(), z.unknown())

export type Databag = z.infer<typeof Databag>

/** The remote side of a relation, as a platform sends it. */
export const Remote = z.strictObject({
  application: Application,
  namespace: Namespace.optional(),
  endpoint: z.string().min(1).optional(),
  data: Databag,
  units: z.record(z.string(), Databag).optional(),
})

/** Tells if a platform has told data of the remote side. */
export const hasData = ({ data, units }: z.infer<typeof Remote>): boolean =>
  Object.keys(data).length > 0 || Object.keys(units ?? {}).length > 0

/** Names an application of the own namespace by itself, as the other side does: a relation has one name, whichever way it is told. */
export const withoutOwnNamespace = <T extends { readonly namespace?: string | undefined }>(
  own: string,
  remote: T,
): Omit<T, 'namespace'> & { namespace?: string | undefined } => {
  if (remote.namespace !== own) return remote
  const { namespace: _, ...named } = remote
  return named
}

export const RelationIdentity = z.strictObject({
  id: z.int().nonnegative(),
  endpoint: z.string().min(1).max(253),
  interface: z.string().min(1).max(253),
  role: z.enum(['provides', 'requires', 'peers']),
})

export type RelationIdentity = z.infer<typeof RelationIdentity>

/** The databag that one side of a relation publishes. */
export const PublishedData = z.strictObject({
  data: z.record(z.string(), z.string()),
  units: z.record(z.string(), z.record(z.string(), z.string())).optional(),
  /** Published incompletely; more follows. */
  partial: z.literal(true).optional(),
})

export type PublishedData = z.infer<typeof PublishedData>

/**
 * One side's entry of a relation: the platform's last word, its own published data, and the progress of both sides. The remote data
 * are in the remote memory.
 */
export const RelationEntry = z.strictObject({
  ...RelationIdentity.shape,
  remote: Remote,
  /** The platform's last word about the relation, sent to either side and ordered by the mark. */
  word: z.enum(['told', 'ended']),
  mark: Mark,
  /** The word was sent to this side, not to the other. */
  mine: z.boolean(),
  /** The time at which the last end became known here, also of a relation that was told again: a tombstone stays for a day. */
  since: z.iso.datetime().optional(),
  /** The ConfigMap document that declares the relation. */
  document: ObjectName.optional(),
  /** The platform has emptied the databag of the remote side, which asks for nothing: a databag that was never told is unknown. */
  emptied: z.literal(true).optional(),
  /** The last readable values of keys that the platform now sends unreadable. */
  kept: Databag.optional(),
  /** The key of this side's data in `says`. */
  says: z.string().optional(),
  /** The resourceVersion of the memory before `says`, `granted` or the word changed last: what is shown again is not what was seen before. */
  revision: z.string().optional(),
  /** A hash of the remote side's public data when last acted upon. */
  seen: z.string().optional(),
  /** The remote application has published its data: without its memory they are unknown, whatever the platform sends. */
  heard: z.literal(true).optional(),
  /** On a provider, a hash of the granted request; `changing` before a revocation. */
  granted: z.string().optional(),
  /** On a requirer: its workload carries labels of the relation, or may. */
  holds: z.literal(true).optional(),
  /** `holds` is only intended: it takes effect once the provider, read after it was saved, has not moved. */
  taking: z.literal(true).optional(),
  /** A hash of the data sent to a remote application without a memory; empty while they are on their way. */
  sent: z.string().optional(),
})

export type RelationEntry = z.infer<typeof RelationEntry>

type Named = Pick<RelationEntry, 'interface' | 'role' | 'remote'>

/** Tells if two words are about one relation: an id may go to another one. */
export const isSameRelation = (one: Named, other: Named): boolean =>
  one.remote.application === other.remote.application &&
  one.remote.namespace === other.remote.namespace &&
  one.interface === other.interface &&
  one.role === other.role

/** An existing relation with the remote data, from whichever source. */
export type Relation = RelationIdentity & {
  readonly remote: z.infer<typeof Remote>
  readonly emptied?: true | undefined
  readonly kept?: Databag | undefined
  /** The remote application publishes its own data: its identity is known. */
  readonly publishes?: true
  /** These are incomplete: what is missing is unknown. */
  readonly isPartial?: true
  /** The labels that the remote workload carries, by its own memory. */
  readonly labels?: Readonly<Record<string, string>>
  /** The remote application has published data that are unknown now. */
  readonly isUnknown?: true
  /** The relation has ended, but its requirer still carries its labels. */
  readonly isLeaving?: true
  /** The remote side's custom data, outside the protocol. */
  readonly customData?: CustomData
  /** The application that its labels wait for. */
  readonly awaits?: string
  /** This side has published completely. */
  readonly isConfigured?: true
}

/** Lists the relations that are meant by id, independent of the order of events. */
export const relationsIn = <R extends Pick<Relation, 'id'>>(
  { relations }: { relations: Readonly<Record<string, R>> },
  isMeant: (relation: R) => boolean = () => true,
): (R & { key: string })[] =>
  Object.entries(relations)
    .filter(([, relation]) => isMeant(relation))
    .map(([key, relation]) => ({ ...relation, key }))
    .toSorted((one, other) => one.id - other.id || (one.key < other.key ? -1 : 1))

/** Names a relation in messages. */
export const relationName = ({ id, endpoint }: Pick<Relation, 'id' | 'endpoint'>): string =>
  `relation ${id} (${endpoint})`
/** Custom data of an application or a unit, outside the protocols: by endpoint and key. */
export const Databags = z.record(z.string().min(1).max(253), LeaderSettings)

export type Databags = z.infer<typeof Databags>

/** The custom data of one side of a relation. */
export type CustomData = Pick<PublishedData, 'data' | 'units'>
/** Names the requester of a policy, in messages and on the objects made for it. */
export const requesterName = (
  { namespace: own }: Subject,
  relation: Pick<Relation, 'id' | 'endpoint' | 'remote'>,
): string => {
  const { namespace = own, application } = relation.remote
  return `${relationName(relation)} of ${namespace}/${application}`
}
