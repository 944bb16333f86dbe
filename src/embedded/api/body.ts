import { parse as parseYaml, type Tags } from 'yaml'
import { isMap, type Json } from '../../platform/base/json.ts'

// A real API server reads 10,000 levels; no object has that many, and here each takes room on the stack.
const deepest = 1000

/** Maps and lists are nested deeper than anything here is written for. */
export const isNestedTooDeep = (value: Json | undefined, left = deepest): boolean => {
  if (!isMap(value) && !Array.isArray(value)) return false
  return left === 0 || Object.values(value).some((member) => isNestedTooDeep(member, left - 1))
}

const tooDeep = { error: 'exceeded max depth' }

type Parsed = { value: Json } | { error: string }

export const parseJson = (text: string): Parsed => {
  try {
    const value = JSON.parse(text) as Json
    return text.length > 2 * deepest && isNestedTooDeep(value) ? tooDeep : { value }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

// The API server reads YAML 1.1, where `on` is a truth value, but leaves dates as text.
const yaml11 = {
  version: '1.1',
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === 'string' || !tag.tag.endsWith(':timestamp')),
} as const

/** Parses YAML, usually JSON. */
export const parseYamlOrJson = (text: string): Parsed => {
  const asJson = text.trimStart().startsWith('{') ? parseJson(text) : undefined
  if (asJson && ('value' in asJson || asJson === tooDeep)) return asJson
  try {
    // Again as JSON: a YAML alias may refer to its own parent, and a tag make a set
    return parseJson(JSON.stringify(parseYaml(text, yaml11)))
  } catch (error) {
    return { error: (error as Error).message }
  }
}

export const mediaType = (headers: Readonly<Record<string, string>>): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
