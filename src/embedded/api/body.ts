import { parse as parseYaml, type Tags } from 'yaml'
import { isMap, type Json } from '../kinds/json.ts'

const goContexts: readonly (readonly [RegExp, string])[] = [
  [/^(Expected property name|Expected double-quoted)/, 'looking for beginning of object key string'],
  [/^Expected ':'/, 'after object key'],
  [/^Expected ',' or '}'/, 'after object key:value pair'],
  [/^Expected ',' or ']'/, 'after array element'],
  [/^Unexpected non-whitespace/, 'after top-level value'],
]

/** The error of Go's JSON decoder for a text that JSON.parse refuses. */
const goJsonError = (text: string, { message }: Error): string => {
  const quoted = /^Unexpected token '(.)'/su.exec(message)?.[1]
  const position = /at position (\d+)/.exec(message)?.[1]
  const character = quoted ?? (position === undefined ? undefined : text[Number(position)])
  if (character === undefined || message.startsWith('Unterminated')) return 'unexpected end of JSON input'
  const context = goContexts.find(([pattern]) => pattern.test(message))?.[1] ?? 'looking for beginning of value'
  return `invalid character '${character}' ${context}`
}

// A real API server reads 10,000 levels; no object has that many, and here each takes room on the stack.
const deepest = 1000

/** Maps and lists are nested deeper than anything here is written for. */
export const isNestedTooDeep = (value: Json | undefined, left = deepest): boolean => {
  if (!isMap(value) && !Array.isArray(value)) return false
  return left === 0 || Object.values(value).some((member) => isNestedTooDeep(member, left - 1))
}

const tooDeep = { error: 'exceeded max depth' }

type Parsed = { value: Json } | { error: string }

/** Parses JSON, with the errors of Go's decoder. */
export const parseGoJson = (text: string): Parsed => {
  try {
    const value = JSON.parse(text) as Json
    return text.length > 2 * deepest && isNestedTooDeep(value) ? tooDeep : { value }
  } catch (error) {
    return { error: goJsonError(text, error as Error) }
  }
}

// The API server reads YAML 1.1, where `on` is a truth value, but leaves dates as text.
const yaml11 = {
  version: '1.1',
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === 'string' || !tag.tag.endsWith(':timestamp')),
} as const

/** Parses YAML, usually JSON. */
export const parseYamlOrJson = (text: string): Parsed => {
  const asJson = text.trimStart().startsWith('{') ? parseGoJson(text) : undefined
  if (asJson && ('value' in asJson || asJson === tooDeep)) return asJson
  try {
    // Again as JSON: a YAML alias may refer to its own parent, and a tag make a set
    return parseGoJson(JSON.stringify(parseYaml(text, yaml11)))
  } catch (error) {
    return { error: (error as Error).message }
  }
}

export const mediaType = (headers: Readonly<Record<string, string>>): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
