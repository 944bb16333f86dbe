import { isRecord, ownValue } from '../base/own-value.ts'

/** A field that differs, by its path, with both values. */
export type FieldDifference = { readonly path: readonly string[]; readonly was: unknown; readonly is: unknown }

/** Lists the deepest desired fields that differ. A list counts as one field. */
export const fieldDifferences = (live: unknown, desired: unknown, path: readonly string[] = []): FieldDifference[] => {
  if (desired === undefined || JSON.stringify(live) === JSON.stringify(desired)) return []
  if (!isRecord(desired) || !isRecord(live)) return [{ path, was: live, is: desired }]
  return Object.entries(desired).flatMap(([key, is]) => fieldDifferences(ownValue(live, key), is, [...path, key]))
}
