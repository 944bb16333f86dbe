import { at, equal, isMap, type Json, type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import { fieldOf, type Shape } from '../../platform/kubernetes/managed-fields/shape.ts'

const orderPrefix = '$setElementOrder/'
const deletePrefix = '$deleteFromPrimitiveList/'

const isDirective = (key: string): boolean => key.startsWith('$')

/** The patch as a new value: without nulls and directives. */
const fresh = (patch: Json): Json => {
  if (Array.isArray(patch)) return patch.filter((item) => !isMap(item) || item.$patch === undefined).map(fresh)
  if (!isMap(patch)) return patch
  const kept = Object.entries(patch).filter(
    ([key, value]) => !isDirective(key) && value !== null && value !== undefined,
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, fresh(value as Json)]))
}

const mergeItems = (current: Json[], patch: Json[], key: string, shape: Shape | undefined): Json[] => {
  const merged = [...current]
  for (const item of patch) {
    const { $patch, ...members } = mapOf(item)
    const position = merged.findIndex((each) => equal(mapOf(each)[key], members[key]))
    const previous = merged[position]
    if ($patch === 'delete') merged.splice(position, position < 0 ? 0 : 1)
    else if (previous === undefined) merged.push(fresh(members))
    else merged[position] = strategicMerge(previous, item, shape?.items)
  }
  return merged
}

/** Orders items as in `order`; the others come after them. */
const ordered = (items: readonly Json[], order: readonly Json[], key: string | undefined): Json[] => {
  const identity = (item: Json): Json | undefined => (key === undefined ? item : mapOf(item)[key])
  const placeOf = (item: Json): number => {
    const place = order.findIndex((each) => equal(identity(each), identity(item)))
    return place < 0 ? order.length : place
  }
  return items.toSorted((one, other) => placeOf(one) - placeOf(other))
}

const mergeList = (live: Json[], patch: Json[], shape: Shape | undefined): Json[] => {
  const [key] = Object.keys(shape?.keys ?? {})
  if (patch.some((item) => isMap(item) && item.$patch === 'replace')) return listOf(fresh(patch))
  if (key !== undefined) return mergeItems(live, patch, key, shape)
  return shape?.set ? [...new Set([...live, ...patch])] : patch
}

const mergeMember = (current: Json | undefined, patch: Json, shape: Shape | undefined): Json => {
  if (Array.isArray(patch)) return mergeList(listOf(current), patch, shape)
  return isMap(patch) && isMap(current) ? strategicMerge(current, patch, shape) : fresh(patch)
}

const withDirectives = (merged: JsonMap, patch: JsonMap, shape: Shape | undefined): JsonMap => {
  const out = { ...merged }
  for (const [directive, value] of Object.entries(patch)) {
    const name = directive.slice(directive.indexOf('/') + 1)
    if (directive.startsWith(deletePrefix)) {
      out[name] = listOf(at(out, name)).filter((item) => !listOf(value).some((gone) => equal(gone, item)))
    }
    if (directive.startsWith(orderPrefix) && at(out, name) !== undefined) {
      const [key] = Object.keys(fieldOf(shape, name)?.keys ?? {})
      out[name] = ordered(listOf(at(out, name)), listOf(value), key)
    }
  }
  const retained = patch.$retainKeys
  if (retained === undefined) return out
  return Object.fromEntries(Object.entries(out).filter(([key]) => listOf(retained).includes(key)))
}

/**
 * Applies a strategic merge patch. It is like a JSON merge patch, but lists with a merge key are merged by item, and directives (`$patch`,
 * `$setElementOrder/…`, `$deleteFromPrimitiveList/…`, `$retainKeys`) control the rest. See
 * https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
export const strategicMerge = (current: Json | undefined, patch: Json, shape: Shape | undefined): Json => {
  if (!isMap(patch)) return patch
  if (patch.$patch === 'delete') return {}
  if (patch.$patch === 'replace') return fresh(patch)
  const out: JsonMap = { ...mapOf(current) }
  for (const [key, value] of Object.entries(patch)) {
    if (isDirective(key)) continue
    if (value === null || value === undefined) delete out[key]
    else out[key] = mergeMember(at(out, key), value, fieldOf(shape, key))
  }
  return withDirectives(out, patch, shape)
}
