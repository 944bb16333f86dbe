import { jsonOrText } from '../../base/structured-text.ts'
import { membersOf, readable, shapeOf, stepTo } from './members.ts'

/** A string or number within a value, as text. */
export type Text = { readonly path: string; readonly text: string }

/** The deepest nesting; JSON in a databag may be deeper, and would exhaust the stack. */
const DEEPEST = 64

/** The string leaves of a JSON value, numbers included. */
export const textsIn = (value: unknown, path = '', levels = DEEPEST): Text[] => {
  if (typeof value === 'string' || typeof value === 'number') return [{ path: readable(path), text: String(value) }]
  if (levels === 0) return []
  const shape = shapeOf(value)
  return [...membersOf(value, shape)].flatMap(([key, member]) => textsIn(member, path + stepTo(key, shape), levels - 1))
}

/** The string leaves of databags, including those of JSON in their values. */
export const textsInDatabags = (value: unknown): string[] =>
  textsIn(value).flatMap(({ text }) => {
    const parsed = jsonOrText(text)
    return typeof parsed === 'string'
      ? [parsed]
      : typeof parsed === 'object'
        ? textsIn(parsed).map(({ text: inner }) => inner)
        : [text]
  })
