import { printValue } from '../../../platform/base/printed.ts'

/** The structure of a value: a map, a list of named items, any other list, or none. */
export type Structure = 'map' | 'names' | 'list' | undefined

/** Returns the structure by which two values are compared. Undefined if their children cannot be matched. */
export const commonStructure = (one: unknown, other: unknown): Structure => {
  const [left, right] = [findStructure(one), findStructure(other)]
  if (left === right) return left
  return Array.isArray(one) && Array.isArray(other) ? 'list' : undefined
}

export const findStructure = (value: unknown): Structure => {
  if (Array.isArray(value)) return hasNames(value) ? 'names' : 'list'
  return typeof value === 'object' && value !== null ? 'map' : undefined
}

const itemName = (item: unknown): unknown =>
  typeof item === 'object' && item !== null && Object.hasOwn(item, 'name')
    ? (item as { name: unknown }).name
    : undefined

const hasNames = (items: readonly unknown[]): boolean =>
  items.every((item) => typeof itemName(item) === 'string') && new Set(items.map(itemName)).size === items.length

/** Lists the children of a value of that structure, by key, name or index. */
export const childrenOf = (value: unknown, structure: Structure): Map<string, unknown> => {
  if (structure === 'map') return new Map(Object.entries(value as object))
  if (structure === undefined) return new Map()
  const items = value as readonly unknown[]
  return new Map(items.map((item, index) => [String(structure === 'names' ? itemName(item) : index), item]))
}

/** Prints the step to a child in a path: `.image`, `[web]`, `[0]`. */
export const stepTo = (child: string, structure: Structure): string =>
  structure === 'map' && /^[\w-]{1,80}$/.test(child)
    ? `.${child}`
    : `[${/^[\w.-]{1,80}$/.test(child) ? child : printValue(child)}]`

const LONGEST_PATH = 200

/** Prints a path for messages, truncated: `containers[web].env[KEY].value`. */
export const readable = (path: string): string => {
  const text = path.replace(/^\./, '') || 'podSpec'
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text
}
