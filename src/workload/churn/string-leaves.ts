import { jsonOrText } from '../../base/structured-text.ts'
import { membersOf, readable, shapeOf, stepTo } from './members.ts'

/** A string or number somewhere in a value, as text. */
export type Text = { readonly path: string; readonly text: string }

/** As deep as data may be nested; JSON in a string of a databag may be deeper, and would exhaust the stack. */
const DEEPEST = 64

/** Every string and number in a value of JSON. */
export const textsIn = (value: unknown, path = '', levels = DEEPEST): Text[] => {
  if (typeof value === 'string' || typeof value === 'number') return [{ path: readable(path), text: String(value) }]
  if (levels === 0) return []
  const shape = shapeOf(value)
  return [...membersOf(value, shape)].flatMap(([key, member]) => textsIn(member, path + stepTo(key, shape), levels - 1))
}

/** Every string and number in databags, whose values may be strings of JSON. */
export const textsInDatabags = (value: unknown): string[] =>
  textsIn(value).flatMap(({ text }) => {
    const parsed = jsonOrText(text)
    return typeof parsed === 'string'
      ? [parsed]
      : typeof parsed === 'object'
        ? textsIn(parsed).map(({ text: inner }) => inner)
        : [text]
  })
