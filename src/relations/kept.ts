import { readCrossModelIdentity } from '../mesh/cross-model.ts'
import { readPolicies } from '../mesh/policies-databag.ts'
import { at } from '../record.ts'
import type { Databag, Relation } from '../state.ts'
import { remoteData } from './remote-data.ts'

type Reader = (databag: Databag) => object

/** The keys whose loss would take something from somebody, by interface. */
const READERS: Readonly<Record<string, Readonly<Record<string, Reader>>>> = {
  service_mesh: { policies: readPolicies },
  cross_model_mesh: { cmr_data: readCrossModelIdentity },
}

const isReadable = (databag: Databag, key: string, reader: Reader): boolean =>
  Object.hasOwn(databag, key) && !('unreadable' in reader(databag))

/** `changed`, with the last readable value of each key that cannot be read any more: what is unreadable never counts as gone. */
export const withKept = (known: Relation | undefined, { kept: _, ...changed }: Relation): Relation => {
  const before: Databag = known ? { ...remoteData(known), ...known.kept } : {}
  const kept = Object.entries(at(READERS, changed.interface) ?? {})
    .filter(([key, reader]) => Object.hasOwn(remoteData(changed), key) && !isReadable(remoteData(changed), key, reader))
    .filter(([key, reader]) => isReadable(before, key, reader))
    .map(([key]) => [key, before[key]] as const)
  return kept.length === 0 ? changed : { ...changed, kept: Object.fromEntries(kept) }
}
