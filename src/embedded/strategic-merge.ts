import { at, equal, isMap, type Json, type JsonMap, listOf, mapOf } from './json.ts'
import { fieldOf, type Shape } from './schema.ts'

const orderPrefix = '$setElementOrder/'
const deletePrefix = '$deleteFromPrimitiveList/'

const isDirective = (key: string): boolean => key.startsWith('$')

/** A value as it is when nothing was there before: without nulls and directives. */
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

const mergeList = (current: Json[], patch: Json[], shape: Shape | undefined): Json[] => {
  const [key] = Object.keys(shape?.keys ?? {})
  if (patch.some((item) => isMap(item) && item.$patch === 'replace')) return listOf(fresh(patch))
  if (key !== undefined) return mergeItems(current, patch, key, shape)
  if (shape?.set) return [...current, ...patch.filter((item) => !current.some((each) => equal(each, item)))]
  return patch
}

/** Items that the order names come in that order; the others stay behind the item they were behind. */
const ordered = (items: Json[], order: Json[], key: string | undefined): Json[] => {
  const identity = (item: Json): Json | undefined => (key === undefined ? item : mapOf(item)[key])
  const place = new Map(order.map((item, index) => [JSON.stringify(identity(item)), index]))
  let last = -1
  return items
    .map((item) => {
      last = place.get(JSON.stringify(identity(item))) ?? last
      return { item, last }
    })
    .toSorted((a, b) => a.last - b.last)
    .map(({ item }) => item)
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
      out[name] = listOf(out[name]).filter((item) => !listOf(value).some((gone) => equal(gone, item)))
    }
    if (directive.startsWith(orderPrefix) && out[name] !== undefined) {
      out[name] = ordered(listOf(out[name]), listOf(value), Object.keys(fieldOf(shape, name)?.keys ?? {})[0])
    }
  }
  const retained = patch.$retainKeys
  if (retained === undefined) return out
  return Object.fromEntries(Object.entries(out).filter(([key]) => listOf(retained).includes(key)))
}

/**
 * Strategic merge patch: like a JSON merge patch, but lists whose items have a merge key are merged item by item, and
 * directives (`$patch`, `$setElementOrder/…`, `$deleteFromPrimitiveList/…`, `$retainKeys`) say the rest.
 * See https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
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
