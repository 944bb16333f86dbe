import { isRecord } from '../../platform/base/own-value.ts'
import type { JsonSchema } from './convert.ts'
import type { Meanings } from './meanings.ts'

/**
 * Adds a description to each place of a JSON Schema. Where the schema takes an object of any form, it adds the keys that have a meaning. Throws for a
 * place without a meaning.
 */
export const described = (schema: JsonSchema, meanings: Meanings, path = ''): JsonSchema => {
  const inside = (key: string, at: string): JsonSchema =>
    isRecord(schema[key]) ? { [key]: described(schema[key], meanings, at) } : {}
  const members = (key: string): JsonSchema =>
    Array.isArray(schema[key]) ? { [key]: schema[key].map((member) => described(member, meanings, path)) } : {}
  return {
    ...schema,
    ...members('anyOf'),
    ...members('oneOf'),
    ...properties(schema, meanings, path),
    ...inside('additionalProperties', `${path}.*`),
    ...inside('items', `${path}[]`),
  }
}

const properties = ({ properties: all }: JsonSchema, meanings: Meanings, path: string): JsonSchema => {
  if (!isRecord(all)) return {}
  const place = path === '' ? '' : `${path}.`
  const given = Object.keys(all).length > 0 ? all : keysBelow(meanings, place)
  const entries = Object.entries(given).map(([key, value]) => {
    const meaning = meanings[`${place}${key}`]
    if (meaning === undefined) throw new Error(`${place}${key} has no meaning: add it to src/serve/schemas/meanings.ts`)
    return [key, { description: meaning, ...described(value as JsonSchema, meanings, `${place}${key}`) }] as const
  })
  return { properties: Object.fromEntries(entries) }
}

const keysBelow = (meanings: Meanings, place: string): JsonSchema =>
  Object.fromEntries(
    Object.keys(meanings)
      .filter((path) => path.startsWith(place))
      .map((path) => [path.slice(place.length), {}]),
  )
