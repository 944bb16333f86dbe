import { ownValue } from '../../../platform/base/own-value.ts'
import { printValue } from '../../../platform/base/printed.ts'
import { jsonOrText } from '../../../platform/base/structured-text.ts'
import type { Interface, Versions } from '../../state/config.ts'
import { INTERFACES } from '../../state/interfaces.ts'
import type { Databag } from '../../state/relation.ts'
import { decodePayload } from './codec.ts'
import { spokenVersions } from './protocol-versions.ts'

/** The data of a relation in the flat keys of its interface, or the reason why they are unknown. */
export type RelationData = { data: Databag } | { incompatible: string } | { unreadable: string }

/**
 * Merges the data of a relation. Published data take precedence over the platform's. If a requirer has never published policies, the
 * platform's count, because another program may request them.
 */
export const readData = (
  name: string,
  platform: Databag,
  published: Databag | undefined,
  versions: Versions = {},
): RelationData => {
  const data = { ...platform, ...published }
  const read = isVersioned(name)
    ? withReadableOffer(name, decodePayload(data, spokenVersions(name, versions)))
    : { data }
  if (!('data' in read) || !published || Object.hasOwn(published, 'policies') || !Object.hasOwn(platform, 'policies'))
    return read
  return { data: { ...read.data, policies: platform.policies } }
}

/** Tells an offer of another version apart. A program that offers what an earlier one could not read raises the version. */
const withReadableOffer = (name: Interface, read: RelationData): RelationData => {
  const { key, format } = INTERFACES[name].labels?.offer ?? {}
  const raw = 'data' in read && key !== undefined ? ownValue(read.data, key) : undefined
  if (raw === undefined) return read
  const offered = (typeof raw === 'string' ? jsonOrText(raw) : raw) as { readonly version?: unknown } | null
  if (offered?.version === format) return read
  return { unreadable: `${key}: expected version ${format}, got ${printValue(offered?.version)}` }
}

export const isVersioned = (name: string): name is Interface => Object.hasOwn(INTERFACES, name)
