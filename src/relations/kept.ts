import * as z from 'zod'
import { read } from '../databag.ts'
import { readCrossModelIdentity } from '../mesh/cross-model.ts'
import { readPolicies } from '../mesh/policies-databag.ts'
import { at } from '../record.ts'
import type { Databag, Relation } from '../state.ts'
import { saidIn } from './heard.ts'
import type { Versions } from './versions.ts'

type Reader = (databag: Databag) => object

/** The keys whose loss would take something from somebody, by interface. */
const READERS: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  service_mesh: {
    policies: readPolicies,
    labels: (databag) => read(databag, 'labels', z.record(z.string(), z.unknown())),
  },
  cross_model_mesh: { cmr_data: readCrossModelIdentity },
}

/**
 * `changed`, with what was said before where that can no longer be read, as a whole or by single keys: what is unreadable never counts
 * as gone. `versionsBefore` are those that were spoken here until now.
 */
export const withKept = (
  known: Relation | undefined,
  { kept: _, ...changed }: Relation,
  versions: Versions | undefined,
  versionsBefore = versions,
): Relation => {
  // what is kept is the last that could be read
  const before = known && { ...dataIn(known, versionsBefore), ...known.kept }
  const now = saidIn(changed, versions)
  const kept = 'data' in now ? lost(changed.interface, before ?? {}, now.data) : (before ?? {})
  return Object.keys(kept).length === 0 ? changed : { ...changed, kept }
}

const dataIn = (relation: Relation, versions: Versions | undefined): Databag => {
  const said = saidIn(relation, versions)
  return 'data' in said ? said.data : {}
}

/** The keys that are there and cannot be read now, with the value that could be read before. */
const lost = (name: string, before: Databag, now: Databag): Databag =>
  Object.fromEntries(
    Object.entries(at(READERS, name) ?? {})
      .filter(([key, reader]) => Object.hasOwn(now, key) && 'unreadable' in reader(now))
      .filter(([key, reader]) => Object.hasOwn(before, key) && !('unreadable' in reader(before)))
      .map(([key]) => [key, before[key]]),
  )
