import { equal, type Json, mapOf, sortedJson } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { keyProblems, problems } from './formats.ts'

/** The value as the API server quotes it in messages. */
const quoted = (value: Json | undefined): string => sortedJson(value ?? null) ?? 'null'

export const invalidValue = (field: string, value: Json | undefined, why: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${quoted(value)}: ${why}`,
})

export const required = (field: string, why = ''): FieldError => ({
  field,
  reason: 'FieldValueRequired',
  message: why === '' ? 'Required value' : `Required value: ${why}`,
})

export const forbiddenField = (field: string, why: string): FieldError => ({
  field,
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
})

export const unsupported = (field: string, value: Json | undefined, supported: readonly string[]): FieldError =>
  unsupportedText(field, quoted(value), supported)

/** The same for a value that Go prints in a form of its own. */
export const unsupportedText = (field: string, text: string, supported: readonly string[]): FieldError => ({
  field,
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${text}: supported values: ${supported.map((each) => JSON.stringify(each)).join(', ')}`,
})

export const tooLong = (field: string, limit: number): FieldError => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${limit} bytes`,
})

export const tooMany = (field: string, count: number, limit: number): FieldError => ({
  field,
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${limit} items`,
})

export const duplicate = (field: string, value: Json | undefined): FieldError => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${JSON.stringify(value)}`,
})

export const notFound = (field: string, value: Json | undefined, why = ''): FieldError => ({
  field,
  reason: 'FieldValueNotFound',
  message: `Not found: ${JSON.stringify(value ?? '')}${why === '' ? '' : `: ${why}`}`,
})

/** A field that keeps its value, once it has one. */
export const immutable = (field: string, value: Json | undefined, before: Json | undefined): FieldError[] =>
  before === undefined || equal(value, before) ? [] : [invalidValue(field, value, 'field is immutable')]

export const labelErrors = (labels: Json | undefined, field: string): FieldError[] =>
  Object.entries(mapOf(labels)).flatMap(([key, value]) => [
    ...keyProblems(key).map((why) => invalidValue(field, key, why)),
    ...problems('labelValue', String(value)).map((why) => invalidValue(field, value, why)),
  ])

const annotationLimit = 262144

export const annotationErrors = (annotations: Json | undefined, field: string): FieldError[] => {
  const entries = Object.entries(mapOf(annotations))
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)), 0)
  const keys = entries.flatMap(([key]) => keyProblems(key.toLowerCase()).map((why) => invalidValue(field, key, why)))
  return size > annotationLimit ? [...keys, tooLong(field, annotationLimit)] : keys
}
