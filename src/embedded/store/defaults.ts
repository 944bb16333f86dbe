import { isEmptyValue, isMap, type Json, type JsonMap, mapMembers } from '../../platform/base/json.ts'
import { fieldOf, type Shape } from '../../platform/kubernetes/managed-fields/shape.ts'
import type { Kind } from '../kinds/kind.ts'
import { canonical } from '../kinds/quantity.ts'
import { kindDefaults, structDefaults } from './struct-defaults.ts'

const filled = (map: JsonMap, defaults: JsonMap): JsonMap => {
  const missing = Object.entries(defaults).filter(([key]) => map[key] === undefined)
  return missing.length === 0 ? map : { ...map, ...Object.fromEntries(missing) }
}

/** Tells if Go writes no such field: one marked omitempty, with the zero of its type. */
const isOmitted = (value: Json, shape: Shape | undefined): boolean => {
  if (value === null || shape?.type === 'list' || shape?.type === 'map') return isEmptyValue(value)
  return shape?.omitsZero === true && (value === '' || value === 0 || value === false)
}

const struct = (map: JsonMap, shape: Shape): JsonMap => {
  if (shape.name === undefined) return filled(map, schemaDefaults(shape))
  const written = mapMembers(map, (value, key) => (isOmitted(value, fieldOf(shape, key)) ? undefined : value))
  const defaults = structDefaults[shape.name] ?? {}
  return filled(written, typeof defaults === 'function' ? defaults(written) : defaults)
}

const schemaDefaults = (shape: Shape): JsonMap =>
  Object.fromEntries(
    Object.entries(shape.fields?.() ?? {}).flatMap(([key, field]) =>
      field.default === undefined ? [] : [[key, field.default]],
    ),
  )

/** A value with its defaults, in the form in which Go writes it. */
const stored = (value: Json, shape: Shape | undefined): Json => {
  if (shape?.type === 'quantity') return canonical(value)
  if (Array.isArray(value)) {
    const items = shape?.items ? value.map((item) => stored(item, shape.items)) : value
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (!isMap(value) || !(shape?.fields || shape?.values)) return value
  const map = shape.fields ? struct(value, shape) : value
  return mapMembers(map, (member, key) => stored(member, fieldOf(shape, key)))
}

/**
 * An object as the API server stores it: with the defaults of its kind, its quantities in canonical form, and without empty members that typed
 * objects do not write.
 */
export const withDefaults = (object: JsonMap, kind: Kind): JsonMap => {
  if (kind.custom) return stored(object, kind.shape) as JsonMap
  const { status, ...content } = object
  const complete = stored(content, kind.shape) as JsonMap
  return { ...(kindDefaults[kind.kind]?.(complete) ?? complete), ...(status !== undefined && { status }) }
}
