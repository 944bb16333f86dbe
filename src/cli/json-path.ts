import { JSONPath } from 'jsonpath-plus'
import { Failure } from './failure.ts'

/**
 * Fills a template of kubectl's `-o jsonpath` (https://kubernetes.io/docs/reference/kubectl/jsonpath/): text, and in braces paths, quoted text, and
 * `range PATH … end`. Several results are joined by a space. Throws Failure for a template that cannot be read.
 */
export const fillTemplate = (template: string, data: unknown): string => {
  const { text, left } = fill(partsOf(template), data)
  if (left.length > 0) throw new Failure('--output jsonpath: {end} without {range}')
  return text
}

type Part = { readonly text: string } | { readonly path: string } | { readonly range: string } | { readonly end: true }

const partsOf = (template: string): Part[] =>
  template
    .split(/(\{(?:"(?:\\.|[^"\\])*"|'[^']*'|[^{}"'])*\})/)
    .filter((text) => text !== '')
    .map((text): Part => {
      const inside = /^\{(.*)\}$/s.exec(text)?.[1]?.trim()
      if (inside === undefined) {
        if (/[{}]/.test(text)) throw new Failure(`--output jsonpath: ${text} has a brace that is not closed`)
        return { text }
      }
      if (inside === 'end') return { end: true }
      if (/^["']/.test(inside))
        return {
          text: quoted(inside.replace(/^'(.*)'$/s, (_, own: string) => JSON.stringify(own).replaceAll('\\\\', '\\'))),
        }
      return inside.startsWith('range ') ? { range: inside.slice('range '.length).trim() } : { path: inside }
    })

const quoted = (text: string): string => {
  try {
    return String(JSON.parse(text))
  } catch {
    throw new Failure(`--output jsonpath: ${text} is no text in quotes`)
  }
}

/** Fills parts up to the end of their range. `left` are the parts after that, with it. */
const fill = (parts: readonly Part[], data: unknown): { text: string; left: readonly Part[] } => {
  let text = ''
  for (let left = parts; ; ) {
    const [first, ...rest] = left
    if (first === undefined || 'end' in first) return { text, left }
    left = rest
    if ('text' in first) text += first.text
    else if ('path' in first) text += resultsOf(first.path, data).map(shown).join(' ')
    else {
      if (!rest.some((part) => 'end' in part)) throw new Failure('--output jsonpath: {range} without {end}')
      const items = resultsOf(first.range, data)
      text += items.map((item) => fill(rest, item).text).join('')
      left = fill(rest, undefined).left.slice(1)
    }
  }
}

const resultsOf = (path: string, json: unknown): readonly unknown[] => {
  if (json === undefined) return []
  try {
    const found: unknown = JSONPath({ path: rooted(path), json: json as object, eval: 'safe', ignoreEvalErrors: true })
    return Array.isArray(found) ? found : []
  } catch (error) {
    throw new Failure(`--output jsonpath: ${path}: ${(error as Error).message}`)
  }
}

/** Adds the root, which kubectl leaves out, and escapes points in keys as it does. */
const rooted = (path: string): string => {
  const given = path.startsWith('$') ? path : `$${/^[.[]/.test(path) ? '' : '.'}${path.replace(/^@/, '')}`
  const counted = given.replace(
    /\[-(\d+)\]/g,
    (_, back: string) => `[-${back}:${back === '1' ? '' : 1 - Number(back)}]`,
  )
  return counted.replace(
    /\.((?:[-\w]|\\.)*\\\.(?:[-\w/]|\\.)*)/g,
    (_, key: string) => `['${key.replaceAll('\\.', '.')}']`,
  )
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
