import * as z from 'zod'
import { compareMarks, Mark } from '../../platform/base/event-order.ts'
import { Application, Namespace, ObjectName } from '../../platform/base/names.ts'
import { changed } from '../../platform/base/own-value.ts'
import type { RemoteName } from '../../platform/base/subject.ts'
import { LeaderSettings } from '../units/leader-settings.ts'

/** A databag. Its values are JSON values or, as in Juju, strings that hold JSON. `databag.ts` reads both. */
export const Databag = z.record(z.string(), z.unknown())

export type Databag = z.infer<typeof Databag>

/** The peer of a relation, as a platform sends it. */
export const Remote = z.strictObject({
  application: Application,
  namespace: Namespace.optional(),
  endpoint: z.string().min(1).optional(),
  data: Databag,
  units: z.record(z.string(), Databag).optional(),
})

/** Tells if a platform has sent data of the peer. */
export const hasData = ({ data = {}, units = {} }: Partial<z.infer<typeof Remote>>): boolean =>
  Object.keys(data).length > 0 || Object.keys(units).length > 0

/** Leaves out the namespace of a peer if it is the own one, so that a relation has only one key. */
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
  /** The data are incomplete. More will follow. */
  partial: z.literal(true).optional(),
})

export type PublishedData = z.infer<typeof PublishedData>

/**
 * The part of its provider's offer that a requirer has taken, by the offer's version. `claiming`: saved before anything is written for it. `applied`:
 * its policies and labels are written. `leaving`: saved before its labels go; it lasts until they and its policies are gone. The version is empty where
 * none is known: the provider has no memory, or the claim was lost and is restored from the labels that stand.
 */
export const Claim = z.strictObject({ version: z.string(), phase: z.enum(['claiming', 'applied', 'leaving']) })

export type Claim = z.infer<typeof Claim>

/**
 * One side's entry of a relation: the platform's last announcement, its own published data, and the progress of both sides. What the peer
 * publishes is in the peer's memory; `remote.data` is what the platform has of it.
 */
export const RelationEntry = z.strictObject({
  ...RelationIdentity.shape,
  /** Without `data`, the platform has not sent the peer's databag. An empty one was emptied, and requests nothing. */
  remote: z.strictObject({ ...Remote.shape, data: Databag.optional() }),
  /** Another relation of this side has the id, and this one waits for it. */
  waitsForId: z.literal(true).optional(),
  /** The last announcement of the platform, to either side. */
  status: z.enum(['established', 'ended']),
  /** Its place in the order of events. */
  position: Mark,
  /** The place of the last announcement to this side. `endpoint` and `remote` follow it. Absent if only the peer was told. */
  told: Mark.optional(),
  /** The time at which the last end became known here. It stays when the relation is announced again. */
  endedAt: z.iso.datetime().optional(),
  /** The ConfigMap document that declares the relation. */
  document: ObjectName.optional(),
  /** The last readable values of keys that the platform now sends unreadable. */
  lastReadable: Databag.optional(),
  /** The published data of this side. */
  published: z
    .strictObject({
      /** The key of its data in the state's `published`. */
      digest: z.string().optional(),
      /** Changes whenever the data or the status do, and never comes back. */
      version: z.string().optional(),
    })
    .optional(),
  /** The record of the peer. */
  peer: z
    .strictObject({
      /**
       * The peer has published its data. Without its memory they are unknown, whatever the platform sends. After a loss of the own memory it
       * is assumed of a provider whose labels stand.
       */
      publishes: z.literal(true).optional(),
      /** The version of its data that this side acted on last. */
      seen: z.string().optional(),
      /** The version of the own data that was sent to a peer without a memory. Null while it is on its way. */
      sent: z.string().nullable().optional(),
    })
    .optional(),
  /** On a requirer of labels. */
  claim: Claim.optional(),
})

export type RelationEntry = z.infer<typeof RelationEntry>

type Named = Pick<RelationIdentity, 'interface' | 'role'> & { readonly remote: RemoteName }

/** Returns the key of a relation in a memory: `{id}/{role}/{interface}/[{namespace}/]{application}`. The namespace is that of a peer in another one. */
export const relationKey = ({ id, role, interface: name, remote: { namespace, application } }: Identified): string =>
  [id, role, name, ...(namespace === undefined ? [] : [namespace]), application].join('/')

type Identified = Omit<Named, 'role'> & { readonly id: number; readonly role: string }

/** Tells if two announcements are about one relation, because an id may pass to another one. */
export const isSameRelation = (one: Named, other: Named): boolean =>
  one.remote.application === other.remote.application &&
  one.remote.namespace === other.remote.namespace &&
  one.interface === other.interface &&
  one.role === other.role

/**
 * A requirer of labels, as its provider sees it. `unmanaged`: it has no memory, so its provider writes the policies that guard it. `unreadable`: the
 * same, but its memory may not be read, so it is not known what it carries. The others guard themselves: `lagging`: it has yet to take the present
 * offer; `claiming`: it is in the middle of that, and `peerLabels` are those that it means to carry; `applied`: it has taken it.
 */
export type Requirer = 'unmanaged' | 'unreadable' | 'lagging' | 'claiming' | 'applied'

/** The provider of labels, as its requirer sees it. */
export type Provider = {
  /** The version of its offer. Undefined if it has none. */
  readonly version?: string | undefined
  /** This side as the provider knows it, with the data that it reads. */
  readonly self: Pick<RelationIdentity, 'id' | 'endpoint'> & { readonly data: Databag; readonly isPartial?: true }
}

/** A relation as it is by the memories of both sides, with the effective data of its peer. */
export type Relation = RelationIdentity & {
  readonly remote: z.infer<typeof Remote>
  /** `leaving`: it is over, but its requirer may still carry its labels. */
  readonly standing: 'established' | 'leaving'
  /**
   * The source of the peer's data: its memory, the platform, or nobody yet. `unknown`: what the peer has published cannot be read now. Labels and
   * objects that were applied for it stay.
   */
  readonly source: 'peer' | 'platform' | 'nobody' | 'unknown'
  /** The peer has published a part of its data: missing keys are unknown. */
  readonly isPartial?: true | undefined
  readonly lastReadable?: Databag | undefined
  /** The labels that the peer's workload carries, according to its memory. */
  readonly peerLabels?: Readonly<Record<string, string>> | undefined
  /** The peer's custom data, outside the protocol. */
  readonly customData?: CustomData | undefined
  /** The data that this side published last. */
  readonly ownData?: PublishedData | undefined
  /** The databag of this side as the platform told the peer in the same namespace, and its last readable values. */
  readonly ownPlatformData?:
    | Partial<Pick<RelationEntry['remote'], 'data'> & Pick<RelationEntry, 'lastReadable'>>
    | undefined
  /** On a requirer of labels, if its provider knows the relation. */
  readonly provider?: Provider | undefined
  /** On a provider of labels. */
  readonly requirer?: Requirer | undefined
}

/** Returns the published data of an entry with changes, for the entry. */
export const publishedWith = (
  entry: RelationEntry,
  changes: Partial<NonNullable<RelationEntry['published']>>,
): Pick<RelationEntry, 'published'> => {
  const published = changed(entry.published ?? {}, changes)
  return { published: Object.keys(published).length === 0 ? undefined : published }
}

/** Selects relations, sorted by id, so independent of the order of events. */
export const relationsIn = <R extends Pick<Relation, 'id'>>(
  { relations }: { relations: Readonly<Record<string, R>> },
  isMeant: (relation: R) => boolean = () => true,
): (R & { key: string })[] =>
  Object.entries(relations)
    .filter(([, relation]) => isMeant(relation))
    .map(([key, relation]) => ({ ...relation, key }))
    .toSorted((one, other) => one.id - other.id || (one.key < other.key ? -1 : 1))

type Wanted = Partial<Pick<Relation, 'role' | 'endpoint' | 'interface'>>

/** Selects relations by interface, role and endpoint, with their keys. Sorted by id, so independent of the order of events. */
export const relationsWith = <R extends RelationIdentity>(
  relations: Readonly<Record<string, R>>,
  wanted: Wanted,
): (R & { key: string })[] =>
  relationsIn({ relations }, (relation) =>
    FIELDS.every((field) => wanted[field] === undefined || relation[field] === wanted[field]),
  )

const FIELDS = ['role', 'endpoint', 'interface'] as const

/** Tells if the last announcement of the platform was to this side. */
export const isToldLast = ({ told, position }: Pick<RelationEntry, 'told' | 'position'>): boolean =>
  told !== undefined && compareMarks(told, position) >= 0

/** Tells if the platform has emptied a databag that it had sent. */
export const isEmptied = ({ remote }: Pick<RelationEntry, 'remote'>): boolean =>
  remote.data !== undefined && !hasData(remote)

/** Names a relation in messages. */
export const relationName = ({ id, endpoint }: Pick<Relation, 'id' | 'endpoint'>): string =>
  `relation ${id} (${endpoint})`
/** Custom data of an application or a unit, outside the protocols: by endpoint and key. */
export const Databags = z.record(z.string().min(1).max(253), LeaderSettings)

export type Databags = z.infer<typeof Databags>

/** The custom data of one side of a relation. */
export type CustomData = Pick<PublishedData, 'data' | 'units'>
