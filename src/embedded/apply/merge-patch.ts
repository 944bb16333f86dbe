import { at, isMap, type Json, type JsonMap, mapOf } from '../../platform/base/json.ts'

/** JSON Merge Patch: maps merge, null removes, everything else replaces. See RFC 7396. */
export const mergePatch = (target: Json | undefined, patch: Json): Json => {
  if (!isMap(patch)) return patch
  const out: JsonMap = { ...mapOf(target) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete out[key]
    else out[key] = mergePatch(at(out, key), value)
  }
  return out
}
