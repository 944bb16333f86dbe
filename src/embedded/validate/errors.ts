import { equal, type Json, mapOf } from '../../platform/base/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { keyProblems, problems } from './formats.ts'

export const invalidValue = (field: string, value: Json | undefined, why: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value ?? null)}: ${why}`,
})

export const required = (field: string, why: string): FieldError => ({
  field,
  reason: 'FieldValueRequired',
  message: `Required value: ${why}`,
})

export const forbiddenField = (field: string, why: string): FieldError => ({
  field,
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${why}`,
})

/** A field that keeps its value, once it has one. */
export const immutable = (field: string, value: Json | undefined, before: Json | undefined): FieldError[] =>
  before === undefined || equal(value, before) ? [] : [invalidValue(field, value, 'field is immutable')]

export const labelErrors = (labels: Json | undefined, field: string): FieldError[] =>
  Object.entries(mapOf(labels)).flatMap(([key, value]) => [
    ...keyProblems(key).map((why) => invalidValue(field, key, why)),
    ...problems('labelValue', String(value)).map((why) => invalidValue(field, value, why)),
  ])

/** The keys of annotations may have capitals in their prefix. */
export const annotationErrors = (annotations: Json | undefined, field: string): FieldError[] =>
  Object.keys(mapOf(annotations)).flatMap((key) =>
    keyProblems(key.toLowerCase()).map((why) => invalidValue(field, key, why)),
  )
