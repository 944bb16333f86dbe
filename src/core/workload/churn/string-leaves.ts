import { jsonOrText } from '../../../platform/base/structured-text.ts'
import { childrenOf, findStructure, readable, stepTo } from './children.ts'

/** A string or number within a value, as text. */
export type StringLeaf = { readonly path: string; readonly text: string }

/** The limit of levels. JSON in a databag may be deeper, and would exhaust the stack. */
const DEEPEST = 64

/** Lists the string leaves of a JSON value, including numbers. */
export const stringLeaves = (value: unknown, path = '', levels = DEEPEST): StringLeaf[] => {
  if (typeof value === 'string' || typeof value === 'number') return [{ path: readable(path), text: String(value) }]
  if (levels === 0) return []
  const structure = findStructure(value)
  return [...childrenOf(value, structure)].flatMap(([key, child]) =>
    stringLeaves(child, path + stepTo(key, structure), levels - 1),
  )
}

/** Lists the string leaves of databags, including those of JSON in their values. */
export const databagLeaves = (value: unknown): string[] =>
  stringLeaves(value).flatMap(({ text }) => {
    const parsed = jsonOrText(text)
    return typeof parsed === 'string'
      ? [parsed]
      : typeof parsed === 'object'
        ? stringLeaves(parsed).map(({ text: inner }) => inner)
        : [text]
  })
