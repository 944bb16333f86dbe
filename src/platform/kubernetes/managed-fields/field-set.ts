import { at, equal, isEmptyValue, isMap, type Json, type JsonMap, sortedJson } from '../../base/json.ts'
import { fieldOf, type Shape } from './shape.ts'

/**
 * A set of fields in the format of managedFields (FieldsV1). Elements are `f:name` for a map's member, `k:{…}` and `v:…` for a list's items, `.` for
 * the value itself; a node without members is the value itself. The empty set is undefined.
 */
export type FieldSet = { [element: string]: FieldSet }

const itself: FieldSet = Object.freeze({})

const node = (included: boolean, members: FieldSet): FieldSet | undefined => {
  for (const _ in members) return included ? { '.': itself, ...members } : members
  return included ? itself : undefined
}

/** The node includes the value itself, and not only something in it. */
export const includesItself = (set: FieldSet): boolean => {
  for (const element in set) return element === '.' || '.' in set
  return true
}

type Keep = (inA: boolean, inB: boolean) => boolean

const combine = (a: FieldSet | undefined, b: FieldSet | undefined, keep: Keep): FieldSet | undefined => {
  if (a === undefined) return keep(false, true) ? b : undefined
  if (b === undefined) return keep(true, false) ? a : undefined
  const members: FieldSet = {}
  const take = (element: string): void => {
    const combined = element === '.' ? undefined : combine(a[element], b[element], keep)
    if (combined !== undefined) members[element] = combined
  }
  for (const element in a) take(element)
  for (const element in b) if (!(element in a)) take(element)
  return node(keep(includesItself(a), includesItself(b)), members)
}

export const unionFields = (a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined =>
  combine(a, b, (inA, inB) => inA || inB)

export const withoutFields = (a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined =>
  combine(a, b, (inA, inB) => inA && !inB)

export const intersection = (a: FieldSet | undefined, b: FieldSet | undefined): FieldSet | undefined =>
  combine(a, b, (inA, inB) => inA && inB)

/** The element that names a list's item: its keys, or the item itself in a list of scalars. */
const itemElement = (item: Json, keys: Shape['keys']): string => {
  if (keys === undefined) return `v:${JSON.stringify(item)}`
  const named: JsonMap = {}
  for (const key of Object.keys(keys)) named[key] = (isMap(item) ? item[key] : undefined) ?? keys[key]
  return `k:${sortedJson(named)}`
}

/** The parts of a value that are owned one by one: element, value and shape of each. A leaf has none. */
export type OwnedPart = { readonly element: string; readonly value: Json; readonly shape: Shape | undefined }

/** The value is owned as a whole: a scalar, an atomic list or an atomic map. */
export const isLeaf = (value: Json | undefined, shape: Shape | undefined): boolean =>
  Array.isArray(value) ? shape?.keys === undefined && shape?.set === undefined : !isMap(value) || shape?.atomic === true

export const ownedParts = (value: Json | undefined, shape: Shape | undefined): OwnedPart[] => {
  const parts: OwnedPart[] = []
  if (Array.isArray(value)) {
    for (const item of value) parts.push({ element: itemElement(item, shape?.keys), value: item, shape: shape?.items })
  } else if (isMap(value)) {
    for (const key in value) {
      const member = value[key]
      if (member !== undefined) parts.push({ element: `f:${key}`, value: member, shape: fieldOf(shape, key) })
    }
  }
  return parts
}

/** All fields of an applied value. */
export const fieldsOf = (value: Json, shape: Shape | undefined): FieldSet | undefined => {
  if (isLeaf(value, shape)) return itself
  const members: FieldSet = {}
  for (const part of ownedParts(value, shape)) {
    const fields = isEmptyValue(part.value) && !Array.isArray(part.value) ? itself : fieldsOf(part.value, part.shape)
    const owned = Array.isArray(value) ? node(true, fields ?? {}) : fields
    if (owned !== undefined) members[part.element] = owned
  }
  return node(false, members)
}

/** The fields of `after` that `before` lacks and, with `changed`, those with another value. Swapping the two gives the removed ones. */
export const difference = (
  before: Json | undefined,
  after: Json | undefined,
  shape: Shape | undefined,
  changed: boolean,
): FieldSet | undefined => {
  if (before === after || after === undefined) return undefined
  const bothEmpty = (before === undefined || isEmptyValue(before)) && isEmptyValue(after)
  if (bothEmpty || isLeaf(after, shape)) {
    const listed = before === undefined || (changed && !equal(before, after))
    return listed ? itself : undefined
  }
  return node(before === undefined, partsDifference(before, after, shape, changed))
}

const partsDifference = (
  before: Json | undefined,
  after: Json,
  shape: Shape | undefined,
  changed: boolean,
): FieldSet => {
  const isList = Array.isArray(after)
  const items = new Map(isList ? ownedParts(before, shape).map(({ element, value }) => [element, value]) : [])
  const members: FieldSet = {}
  for (const { element, value, shape: inner } of ownedParts(after, shape)) {
    const found = difference(isList ? items.get(element) : at(before, element.slice(2)), value, inner, changed)
    if (found !== undefined) members[element] = found
  }
  return members
}

/**
 * Removes the fields that were owned before and that nobody owns now. A map's member counts as owned while anything inside it is; a
 * list's item only when it is owned itself.
 */
export const prune = (
  value: Json,
  before: FieldSet | undefined,
  owned: FieldSet | undefined,
  shape: Shape | undefined,
): Json => {
  if (before === undefined || isLeaf(value, shape)) return value
  const kept: OwnedPart[] = []
  for (const part of ownedParts(value, shape)) {
    const past = before[part.element]
    const present = owned?.[part.element]
    if (past !== undefined && isMember(part.element, past) && !(present && isMember(part.element, present))) continue
    kept.push({ ...part, value: prune(part.value, past, present, part.shape) })
  }
  if (Array.isArray(value)) return kept.map((part) => part.value)
  return Object.fromEntries(kept.map((part) => [part.element.slice(2), part.value]))
}

const isMember = (element: string, set: FieldSet): boolean => element.startsWith('f:') || includesItself(set)
