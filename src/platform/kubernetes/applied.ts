import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../base/own-value.ts'
import { isApply } from './field-managers.ts'
import type { FieldSet, KubernetesObject } from './objects.ts'

/**
 * Tells if applying `desired` as `manager` would change nothing. The manager's last apply was the same, and the object still has these values. Fields of
 * others do not count. See https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
 */
export const isApplied = (object: KubernetesObject, desired: KubernetesObject, manager: string): boolean => {
  const fields = appliedFields(object, manager)
  return fields !== undefined && isSame(object, withoutIdentity(desired), fields)
}

/**
 * Tells if `manager` still has all fields of `desired`: nobody has changed or taken one since it applied them. Values are not compared, because the
 * API server stores some in another form, as 1Gi for 1024Mi.
 */
export const isHeld = (object: KubernetesObject, desired: KubernetesObject, manager: string): boolean => {
  const fields = appliedFields(object, manager)
  return fields !== undefined && holdsAll(withoutIdentity(desired), fields)
}

const holdsAll = (desired: unknown, fields: FieldSet): boolean => {
  const elements = Object.keys(fields).filter((element) => element !== '.')
  if (elements.length === 0) return true
  if (Array.isArray(desired))
    return desired.every((item, index) => {
      const element = elements.find((one) => placeIn(desired, one) === index)
      return element !== undefined && holdsAll(item, fields[element] ?? {})
    })
  return Object.entries(isRecord(desired) ? desired : {}).every(
    ([name, value]) =>
      isZero(value) || (fields[`f:${name}`] !== undefined && holdsAll(value, fields[`f:${name}`] ?? {})),
  )
}

/** Returns the fields that the last server-side apply of `manager` set. */
export const appliedFields = ({ metadata }: KubernetesObject, manager: string): FieldSet | undefined =>
  metadata.managedFields?.find((entry) => entry.manager === manager && isApply(entry))?.fieldsV1

/**
 * Lists the managers that added fields to the spec besides those that `manager` applied. Others may set the fields in `open`. Defaults of the API server
 * have no manager.
 */
export const listAdders = (object: KubernetesObject, manager: string, open: readonly string[]): string[] => {
  const ours = appliedFields(object, manager)?.['f:spec'] ?? {}
  const adders = (object.metadata.managedFields ?? []).filter((entry) => {
    const theirs = Object.entries(entry.fieldsV1?.['f:spec'] ?? {})
    const counted = theirs.filter(([element]) => !open.includes(element.slice(2)))
    return entry.manager !== manager && entry.subresource === undefined && isAdding(Object.fromEntries(counted), ours)
  })
  return [...new Set(adders.map((entry) => entry.manager))]
}

/** Tells if `theirs` has elements that `ours` lacks. */
const isAdding = (theirs: FieldSet, ours: FieldSet): boolean =>
  Object.entries(theirs).some(([element, below]) => {
    const same = ours[element]
    return element !== '.' && (same === undefined || isAdding(below, same))
  })

/** Drops the identity of an object, which no manager holds. */
const withoutIdentity = ({ apiVersion: _a, kind: _k, metadata, ...content }: KubernetesObject): unknown => {
  const { name: _n, namespace: _s, uid: _u, ...owned } = metadata
  return JSON.parse(JSON.stringify({ ...content, ...(Object.keys(owned).length > 0 && { metadata: owned }) }))
}

const isSame = (live: unknown, desired: unknown, fields: FieldSet): boolean => {
  const elements = Object.keys(fields).filter((element) => element !== '.')
  if (elements.length === 0) return isDeepStrictEqual(live, desired)
  if (Array.isArray(desired)) return isSameList(live, desired, fields, elements)
  if (!isRecord(live) || !isRecord(desired)) return false
  const names = elements.map((element) => element.slice(2))
  return (
    Object.keys(desired).every((name) => names.includes(name) || isUnstored(live[name], desired[name])) &&
    names.every((name) => Object.hasOwn(desired, name) && isSameField(live[name], desired[name], fields[`f:${name}`]))
  )
}

/** The API server stores no zero value of most fields of built-in kinds. The field is its manager's all the same. */
const isSameField = (live: unknown, desired: unknown, fields: FieldSet = {}): boolean =>
  (live === undefined && isZero(desired)) || isSame(live, desired, fields)

const isZero = (value: unknown): boolean =>
  isRecord(value) ? Object.keys(value).length === 0 : Array.isArray(value) ? value.length === 0 : !value

/** Tells if a value is nothing, or a list of keyed items that has none: neither is a field of its manager. */
const isUnstored = (live: unknown, desired: unknown): boolean =>
  live === undefined && (desired === null || (Array.isArray(desired) && desired.length === 0))

/** Compares lists by the key fields (`k:`) or values (`v:`) of their items. The order counts, because an apply restores it. */
const isSameList = (
  live: unknown,
  desired: readonly unknown[],
  fields: FieldSet,
  elements: readonly string[],
): boolean => {
  if (!Array.isArray(live) || elements.length !== desired.length) return false
  const pairs = elements.map((element) => ({
    element,
    ours: placeIn(desired, element),
    theirs: placeIn(live, element),
  }))
  const places = pairs.toSorted((one, other) => one.ours - other.ours).map(({ theirs }) => theirs)
  return (
    places.every((place, index) => place > (places[index - 1] ?? -1)) &&
    pairs.every(({ element, ours, theirs }) => ours >= 0 && isSame(live[theirs], desired[ours], fields[element] ?? {}))
  )
}

/** Finds the index of an item, or -1. A missing key may have been defaulted. An item that states the key wins. */
export const placeIn = (items: readonly unknown[], element: string): number => {
  const key: unknown = JSON.parse(element.slice(2))
  if (element.startsWith('v:')) return items.findIndex((item) => isDeepStrictEqual(item, key))
  const place = items.findIndex((item) => hasKey(item, key, false))
  return place >= 0 ? place : items.findIndex((item) => hasKey(item, key, true))
}

const hasKey = (item: unknown, key: unknown, isDefaulted: boolean): boolean =>
  isRecord(item) &&
  isRecord(key) &&
  Object.entries(key).every(
    ([name, value]) => (isDefaulted && item[name] === undefined) || isDeepStrictEqual(item[name], value),
  )
