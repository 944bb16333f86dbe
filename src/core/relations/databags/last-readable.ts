import { ownValue } from '../../../platform/base/own-value.ts'
import type { Versions } from '../../state/config.ts'
import { Databag, type RelationEntry } from '../../state/relation.ts'
import { ELSEWHERE_KEY } from '../requested-labels.ts'
import { readCrossModelIdentity } from './cross-model.ts'
import { readValue } from './databag.ts'
import { readPolicies } from './policies-databag.ts'
import { readData } from './relation-data.ts'
import { readScrapeJobs, SCRAPE, SCRAPE_JOBS } from './scrape-jobs.ts'

type Reader = (databag: Databag) => object

/** The keys whose loss would revoke something, by interface. */
const READERS: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  service_mesh: {
    policies: readPolicies,
    labels: (databag) => readValue(databag, 'labels', Databag),
    [ELSEWHERE_KEY]: (databag) => readValue(databag, ELSEWHERE_KEY, Databag),
  },
  cross_model_mesh: { cmr_data: readCrossModelIdentity },
  [SCRAPE]: { [SCRAPE_JOBS]: readScrapeJobs },
}

/** The platform's data of the peer, with the last readable values. */
type Platform = Pick<RelationEntry, 'interface' | 'remote' | 'lastReadable'>

/**
 * Keeps the last readable values of the platform's data, by key or as a whole, because unreadable never counts as absent. `versionsBefore`
 * are the versions that were supported until now.
 */
export const lastReadableValues = (
  known: Platform | undefined,
  announced: Platform,
  versions: Versions | undefined,
  versionsBefore = versions,
): Databag | undefined => {
  const before = known && { ...dataOf(known, versionsBefore), ...known.lastReadable }
  const now = readData(announced.interface, announced.remote.data ?? {}, undefined, versions)
  const lastReadable = 'data' in now ? lost(announced.interface, before ?? {}, now.data) : (before ?? {})
  return Object.keys(lastReadable).length === 0 ? undefined : lastReadable
}

/**
 * Reads an entry of a databag with its reader, or the last readable value of it. `unreadable` tells why the present one cannot be read. Without a
 * `value`, none was ever readable.
 */
export const readOrLast = <R extends object>(
  databag: Databag,
  lastReadable: Databag | undefined,
  key: string,
  reader: (databag: Databag) => R,
): { readonly value?: Readable<R>; readonly unreadable?: string } => {
  const latest = reader(databag)
  if (isReadable(latest)) return { value: latest }
  const { unreadable } = latest as Unreadable
  const before = lastReadable && Object.hasOwn(lastReadable, key) ? reader(lastReadable) : latest
  return isReadable(before) ? { value: before, unreadable } : { unreadable }
}

type Unreadable = { readonly unreadable: string }
type Readable<R> = Exclude<R, Unreadable>

const isReadable = <R extends object>(read: R): read is Readable<R> => !('unreadable' in read)

const dataOf = ({ interface: name, remote }: Platform, versions: Versions | undefined): Databag => {
  const data = readData(name, remote.data ?? {}, undefined, versions)
  return 'data' in data ? data.data : {}
}

/** Selects the last readable values of keys that are unreadable now. */
const lost = (name: string, before: Databag, now: Databag): Databag =>
  Object.fromEntries(
    Object.entries(ownValue(READERS, name) ?? {})
      .filter(([key, reader]) => Object.hasOwn(now, key) && 'unreadable' in reader(now))
      .filter(([key, reader]) => Object.hasOwn(before, key) && !('unreadable' in reader(before)))
      .map(([key]) => [key, before[key]]),
  )
