import { shown } from '../../base/printed.ts'

/** The structure of a value: a map, a list of named items, any other list, or none. */
export type Shape = 'map' | 'names' | 'list' | undefined

/** The structure by which two values are compared; undefined where they have no children in common. */
export const commonShape = (one: unknown, other: unknown): Shape => {
  const [left, right] = [shapeOf(one), shapeOf(other)]
  if (left === right) return left
  return Array.isArray(one) && Array.isArray(other) ? 'list' : undefined
}

export const shapeOf = (value: unknown): Shape => {
  if (Array.isArray(value)) return hasNames(value) ? 'names' : 'list'
  return typeof value === 'object' && value !== null ? 'map' : undefined
}

const nameIn = (item: unknown): unknown =>
  typeof item === 'object' && item !== null && Object.hasOwn(item, 'name')
    ? (item as { name: unknown }).name
    : undefined

const hasNames = (items: readonly unknown[]): boolean =>
  items.every((item) => typeof nameIn(item) === 'string') && new Set(items.map(nameIn)).size === items.length

/** The children of a value of that shape, by key, name or index. */
export const membersOf = (value: unknown, shape: Shape): Map<string, unknown> => {
  if (shape === 'map') return new Map(Object.entries(value as object))
  if (shape === undefined) return new Map()
  const items = value as readonly unknown[]
  return new Map(items.map((item, index) => [String(shape === 'names' ? nameIn(item) : index), item]))
}

/** The step to a child in a path: `.image`, `[web]`, `[0]`. */
export const stepTo = (member: string, shape: Shape): string =>
  shape === 'map' && /^[\w-]{1,80}$/.test(member)
    ? `.${member}`
    : `[${/^[\w.-]{1,80}$/.test(member) ? member : shown(member)}]`

const LONGEST_PATH = 200

/** A path for messages, truncated: `containers[web].env[KEY].value`. */
export const readable = (path: string): string => {
  const text = path.replace(/^\./, '') || 'podSpec'
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text
}
