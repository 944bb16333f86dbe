import { equal, type Json, type JsonMap, listOf, mapOf, sortedJson } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
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

const mapErrors = (metadata: JsonMap): FieldError[] => [
  ...labelErrors(metadata.labels, 'metadata.labels'),
  ...annotationErrors(metadata.annotations, 'metadata.annotations'),
]

const nameErrors = ({ names }: Kind, { name, generateName }: JsonMap): FieldError[] => {
  if (name === undefined || name === '') {
    return generateName === undefined || generateName === ''
      ? [required('metadata.name', 'name or generateName is required')]
      : []
  }
  return problems(names, String(name)).map((why) => invalidValue('metadata.name', name, why))
}

/** The errors of a new object's metadata. */
export const metadataErrors = (kind: Kind, metadata: JsonMap): FieldError[] => [
  ...nameErrors(kind, metadata),
  ...mapErrors(metadata),
]

const fixed = ['name', 'namespace', 'uid'] as const

/** Finalizers may not be added once the deletion has begun. */
const finalizerErrors = (metadata: JsonMap, previous: JsonMap): FieldError[] => {
  if (previous.deletionTimestamp === undefined) return []
  const added = listOf(metadata.finalizers).filter((each) => !listOf(previous.finalizers).includes(each))
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((each) => JSON.stringify(each)).join(', ')}}`
  return added.length === 0 ? [] : [forbiddenField('metadata.finalizers', why)]
}

/** The errors of a changed object's metadata. */
export const metadataUpdateErrors = (metadata: JsonMap, previous: JsonMap): FieldError[] => [
  ...fixed.flatMap((key) => immutable(`metadata.${key}`, metadata[key], previous[key])),
  ...finalizerErrors(metadata, previous),
  ...mapErrors(metadata),
]
