import * as z from 'zod'
import { Mark } from '../base/event-order.ts'
import { Application, Namespace, ObjectName } from '../base/names.ts'
import type { Subject } from '../base/subject.ts'
import { LeaderSettings } from '../units/leader-settings.ts'

/** Databag values are JSON values or, as in Juju, strings that hold JSON: `databag.ts` reads both. */
export const Databag = z.record(z.string(), z.unknown())

export type Databag = z.infer<typeof Databag>

/** The remote side of a relation, as a platform tells it. */
export const Remote = z.strictObject({
  application: Application,
  namespace: Namespace.optional(),
  endpoint: z.string().min(1).optional(),
  data: Databag,
  units: z.record(z.string(), Databag).optional(),
})

export const RelationIdentity = z.strictObject({
  id: z.int().nonnegative(),
  endpoint: z.string().min(1).max(253),
  interface: z.string().min(1).max(253),
  role: z.enum(['provides', 'requires', 'peers']),
})

export type RelationIdentity = z.infer<typeof RelationIdentity>

/** The databag of one side of a relation, as that side publishes it. */
export const PublishedData = z.strictObject({
  data: z.record(z.string(), z.string()),
  units: z.record(z.string(), z.record(z.string(), z.string())).optional(),
  /** More is said once nothing is missing for it. */
  partial: z.literal(true).optional(),
})

export type PublishedData = z.infer<typeof PublishedData>

/**
 * A relation as one side remembers it: the platform's last word, what this side says, and how far both sides are. What the other side
 * says is read in its memory, and not remembered here.
 */
export const RelationEntry = z.strictObject({
  ...RelationIdentity.shape,
  remote: Remote,
  /** The platform's last word of the relation, to whichever side; the mark orders it. */
  word: z.enum(['told', 'ended']),
  mark: Mark,
  /** The word came to this side, and not to the other. */
  mine: z.boolean(),
  /** When the word `ended` was heard here: a tombstone stays for a day. */
  since: z.iso.datetime().optional(),
  /** The ConfigMap that it is kept in. */
  document: ObjectName.optional(),
  /** The last values of the platform that could be read, of keys that cannot be read now. */
  kept: Databag.optional(),
  /** The key in `says` of what this side says. */
  says: z.string().optional(),
  /** A hash of what the other side showed when it was acted upon last. */
  seen: z.string().optional(),
  /** The other side spoke for itself: without its memory its data are unknown, and not what a platform says. */
  heard: z.literal(true).optional(),
  /** A provider: a hash of the request that is granted; `changing` before anything is revoked. */
  granted: z.string().optional(),
  /** A requirer: its workload carries labels that the relation asks for, or may. */
  holds: z.literal(true).optional(),
  /** `holds` is meant only: it holds once the provider, read after that was saved, has not moved. */
  taking: z.literal(true).optional(),
  /** A hash of what was sent to a remote application that has no memory. */
  sent: z.string().optional(),
})

export type RelationEntry = z.infer<typeof RelationEntry>

/** A relation that stands, with the data of its other side, wherever these come from. */
export type Relation = RelationIdentity & {
  readonly remote: z.infer<typeof Remote>
  readonly kept?: Databag | undefined
  /** The remote application speaks for itself: its identity is known. */
  readonly speaks?: true
  /** The other side spoke for itself before, and what it says now is not known. */
  readonly isUnknown?: true
  /** It is over, and the requirer carries its labels still. */
  readonly isLeaving?: true
  /** What the other side says besides the protocol. */
  readonly told?: CustomData
  /** What its labels wait for. */
  readonly awaits?: string
  /** The other side was told all there is to tell before. */
  readonly isConfigured?: true
}

/** The relations in the order of their ids, which no order of events can change. */
export const relationsIn = <R extends Pick<Relation, 'id'>>({
  relations,
}: {
  relations: Readonly<Record<string, R>>
}): (R & { key: string })[] =>
  Object.entries(relations)
    .map(([key, relation]) => ({ ...relation, key }))
    .toSorted((one, other) => one.id - other.id || (one.key < other.key ? -1 : 1))

/** How a relation is named in messages. */
export const relationName = ({ id, endpoint }: Pick<Relation, 'id' | 'endpoint'>): string =>
  `relation ${id} (${endpoint})`
/** What an application, or a unit, says in its relations besides what their protocols say: by endpoint, key and value. */
export const Databags = z.record(z.string().min(1).max(253), LeaderSettings)

export type Databags = z.infer<typeof Databags>

/** What one side of a relation says besides its protocol. */
export type CustomData = Pick<PublishedData, 'data' | 'units'>
/** How the requests of a relation are named, in messages and on what is made for them. */
export const requesterName = (
  { namespace: own }: Subject,
  relation: Pick<Relation, 'id' | 'endpoint' | 'remote'>,
): string => {
  const { namespace = own, application } = relation.remote
  return `${relationName(relation)} of ${namespace}/${application}`
}
