import { isMap, type Json, type JsonMap, listOf } from '../kinds/json.ts'

/** Adds absent members. */
export const filled = (map: JsonMap, defaults: JsonMap): JsonMap => {
  const missing = Object.entries(defaults).filter(([key]) => map[key] === undefined)
  return missing.length === 0 ? map : { ...map, ...Object.fromEntries(missing) }
}

/** Changes one member; returns the same map when nothing changes, or the member is absent. */
export const changed = (map: JsonMap, key: string, change: (value: Json) => Json): JsonMap => {
  const value = map[key]
  if (value === undefined) return map
  const next = change(value)
  return next === value ? map : { ...map, [key]: next }
}

/** Changes each item of a list; returns the same list when nothing changes. */
export const each =
  (change: (item: JsonMap) => JsonMap) =>
  (list: Json): Json => {
    const items = listOf(list)
    const next = items.map((item) => (isMap(item) ? change(item) : item))
    return next.every((item, index) => item === items[index]) ? list : next
  }
