import { at, isMap, type Json } from '../../../platform/base/json.ts'
import type { FieldSet } from '../../../platform/kubernetes/managed-fields/field-set.ts'
import type { Shape } from '../../../platform/kubernetes/managed-fields/shape.ts'

/** Keys of list items that the API server fills in where they are left out. */
const DEFAULT_KEYS: Readonly<Record<string, string>> = { protocol: 'TCP' }

/** Maps that are never owned as a whole, although an owner of an empty one looks as if. */
const OPEN = ['labels', 'annotations']

/**
 * Infers the schema of an object from its values and the fields of its owners, which tell how the API server divides it: by which keys it tells list items
 * from each other, and which maps it replaces as a whole. A list that nobody owns yet is keyed by names, if each item has one of its own.
 */
export const shapeOf = (owned: readonly FieldSet[], values: readonly (Json | undefined)[], name = ''): Shape => {
  const lists = values.filter(Array.isArray)
  if (lists.length > 0) {
    const keys = keysOf(owned, lists)
    const items = owned.flatMap((set) => Object.entries(set).flatMap(([key, below]) => (key === '.' ? [] : [below])))
    if (keys) return { type: 'list', keys, items: shapeOf(items, lists.flat()) }
    const isSet = owned.some((set) => Object.keys(set).some((element) => element.startsWith('v:')))
    return { type: 'list', ...(isSet && { set: true }) }
  }
  if (!values.some(isMap)) return { type: 'any' }
  const isWhole = !OPEN.includes(name) && owned.length > 0 && owned.every((set) => Object.keys(set).length === 0)
  if (isWhole) return { type: 'map', atomic: true }
  const names = new Set(values.flatMap((value) => (isMap(value) ? Object.keys(value) : [])))
  const fieldOf = (field: string): [string, Shape] => [
    field,
    shapeOf(
      owned.flatMap((set) => set[`f:${field}`] ?? []),
      values.map((value) => at(value, field)),
      field,
    ),
  ]
  return { type: 'struct', fields: () => Object.fromEntries([...names].map(fieldOf)) }
}

const keysOf = (owned: readonly FieldSet[], lists: readonly Json[][]): Shape['keys'] => {
  const element = owned.flatMap(Object.keys).find((one) => one.startsWith('k:'))
  const keys = element === undefined ? undefined : Object.keys(JSON.parse(element.slice(2)))
  if (keys) return Object.fromEntries(keys.map((key) => [key, DEFAULT_KEYS[key] ?? null]))
  const isNamed = (items: readonly Json[]) => {
    const names = new Set(items.map((item) => at(item, 'name')))
    return names.size === items.length && !names.has(undefined)
  }
  return owned.length === 0 && lists.every(isNamed) && lists.flat().length > 0 ? { name: null } : undefined
}
