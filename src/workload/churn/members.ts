import { shown } from '../../base/printed.ts'

/** What a value is made of: a map, a list whose items have names of their own, any other list, or nothing. */
export type Shape = 'map' | 'names' | 'list' | undefined

/** How two values are to be compared; undefined when they have no members in common. */
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

/** The members of a value of that shape, by their keys, names or numbers. */
export const membersOf = (value: unknown, shape: Shape): Map<string, unknown> => {
  if (shape === 'map') return new Map(Object.entries(value as object))
  if (shape === undefined) return new Map()
  const items = value as readonly unknown[]
  return new Map(items.map((item, index) => [String(shape === 'names' ? nameIn(item) : index), item]))
}

/** How a member is written in a path: `.image`, `[web]`, `[0]`. */
export const stepTo = (member: string, shape: Shape): string =>
  shape === 'map' && /^[\w-]{1,80}$/.test(member)
    ? `.${member}`
    : `[${/^[\w.-]{1,80}$/.test(member) ? member : shown(member)}]`

const LONGEST_PATH = 200

/** A path as people read it, cut to a length for a message: `containers[web].env[KEY].value`. */
export const readable = (path: string): string => {
  const text = path.replace(/^\./, '') || 'podSpec'
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text
}
