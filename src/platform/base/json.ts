/** Any JSON value; an `undefined` member of a map counts as absent. */
export type Json = string | number | boolean | null | Json[] | JsonMap
export type JsonMap = { [key: string]: Json | undefined }

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The map itself, or an empty one for anything else. */
export const mapOf = (value: Json | undefined): JsonMap => (isMap(value) ? value : {})

export const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])

export const isEmptyValue = (value: Json | undefined): boolean =>
  value === null || (Array.isArray(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0)

/** The value at a path of map keys; undefined when part of the path is missing. */
export const at = (value: Json | undefined, ...path: string[]): Json | undefined => {
  let here = value
  for (const key of path) here = isMap(here) && Object.hasOwn(here, key) ? here[key] : undefined
  return here
}

/** A copy of the map with another value at the path; undefined removes it. Maps on the way are made as needed. */
export const withAt = (map: JsonMap, path: readonly string[], value: Json | undefined): JsonMap => {
  const [key, ...rest] = path
  if (key === undefined) return map
  const { [key]: previous, ...others } = map
  const next = rest.length === 0 ? value : withAt(mapOf(previous), rest, value)
  return next === undefined ? others : { ...map, [key]: next }
}

const sameMap = (a: JsonMap, b: JsonMap): boolean => {
  // own members alone: every map inherits a constructor
  for (const key in a) if (!equal(a[key], at(b, key))) return false
  for (const key in b) if (b[key] !== undefined && at(a, key) === undefined) return false
  return true
}

/** Deep equality; the order of map keys does not matter. */
export const equal = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]))
  }
  return isMap(a) && isMap(b) && sameMap(a, b)
}

/** A map with other members; undefined removes one. Returns the same map when nothing changes. */
export const mapMembers = (map: JsonMap, change: (value: Json, key: string) => Json | undefined): JsonMap => {
  let isSame = true
  const members = Object.entries(map).flatMap(([key, value]) => {
    const next = value === undefined ? undefined : change(value, key)
    isSame &&= next === value
    return next === undefined ? [] : [[key, next]]
  })
  return isSame ? map : Object.fromEntries(members)
}

/** Removes null members of maps, as typed objects read them; returns the same value when there are none. */
export const withoutNulls = (value: Json): Json => {
  if (isMap(value)) return mapMembers(value, (member) => (member === null ? undefined : withoutNulls(member)))
  if (!Array.isArray(value)) return value
  const items = value.map(withoutNulls)
  return items.every((item, index) => item === value[index]) ? value : items
}

export const copyOf = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isMap(value)) return value
  const copy: JsonMap = {}
  for (const key in value) {
    const member = value[key]
    if (member !== undefined) copy[key] = copyOf(member)
  }
  return copy
}

/** Parses JSON; undefined for an invalid text. */
export const parsed = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** JSON with the keys of every map in alphabetical order, as Go writes maps. */
export const sortedJson = (value: Json | undefined): string => {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`
  if (!isMap(value)) return JSON.stringify(value ?? null)
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${sortedJson(value[key])}`)
    .join(',')}}`
}
