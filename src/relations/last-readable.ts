import * as z from 'zod'
import { ownValue } from '../base/own-value.ts'
import type { Versions } from '../state/config.ts'
import type { Databag, RelationEntry } from '../state/relation.ts'
import { readCrossModelIdentity } from './cross-model.ts'
import { readValue } from './databag.ts'
import { readData } from './effective.ts'
import { readGuards } from './guarded-databag.ts'
import { readPolicies } from './policies-databag.ts'

const Labels = z.record(z.string(), z.unknown())

type Reader = (databag: Databag) => object

/** The keys whose loss would take something from somebody, by interface. */
const READERS: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  service_mesh: {
    policies: readPolicies,
    guarded: readGuards,
    labels: (databag) => readValue(databag, 'labels', Labels),
  },
  cross_model_mesh: { cmr_data: readCrossModelIdentity },
}

/** What a platform tells of the other side, with the last readable values of what it told before. */
type Platform = Pick<RelationEntry, 'interface' | 'remote' | 'kept'>

/**
 * The last readable values of what a platform told, as a whole or of single keys: what is unreadable never counts as gone. `versionsBefore`
 * are those that were spoken here until now.
 */
export const lastReadableValues = (
  known: Platform | undefined,
  told: Platform,
  versions: Versions | undefined,
  versionsBefore = versions,
): { kept?: Databag } => {
  const before = known && { ...dataOf(known, versionsBefore), ...known.kept }
  const now = readData(told.interface, told.remote.data, undefined, versions)
  const kept = 'data' in now ? lost(told.interface, before ?? {}, now.data) : (before ?? {})
  return Object.keys(kept).length === 0 ? {} : { kept }
}

const dataOf = ({ interface: name, remote }: Platform, versions: Versions | undefined): Databag => {
  const data = readData(name, remote.data, undefined, versions)
  return 'data' in data ? data.data : {}
}

/** The keys that are there and cannot be read now, with the value that could be read before. */
const lost = (name: string, before: Databag, now: Databag): Databag =>
  Object.fromEntries(
    Object.entries(ownValue(READERS, name) ?? {})
      .filter(([key, reader]) => Object.hasOwn(now, key) && 'unreadable' in reader(now))
      .filter(([key, reader]) => Object.hasOwn(before, key) && !('unreadable' in reader(before)))
      .map(([key]) => [key, before[key]]),
  )
