import type { Interface, Versions } from '../state/config.ts'
import { INTERFACES } from '../state/interfaces.ts'
import type { Databag } from '../state/relation.ts'
import { decodePayload } from './codec.ts'
import { spokenVersions } from './versions.ts'

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
  const read = isVersioned(name) ? decodePayload(data, spokenVersions(name, versions)) : { data }
  if (!('data' in read) || !published || Object.hasOwn(published, 'policies') || !Object.hasOwn(platform, 'policies'))
    return read
  return { data: { ...read.data, policies: platform.policies } }
}

export const isVersioned = (name: string): name is Interface => Object.hasOwn(INTERFACES, name)
