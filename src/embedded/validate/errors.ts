import { equal, type Json, mapOf } from '../../platform/base/json.ts'
import { labelProblem } from '../../platform/kubernetes/label-syntax.ts'
import type { FieldError } from '../kinds/status.ts'

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

const invalidIf = (why: string | undefined, field: string, value: Json): FieldError[] =>
  why === undefined ? [] : [invalidValue(field, value, why)]

export const labelErrors = (labels: Json | undefined, field: string): FieldError[] =>
  Object.entries(mapOf(labels)).flatMap(([key, value]) => invalidIf(labelProblem(key, value), field, { [key]: value }))

/** The keys of annotations may have capitals in their prefix. */
export const annotationErrors = (annotations: Json | undefined, field: string): FieldError[] =>
  Object.keys(mapOf(annotations)).flatMap((key) => invalidIf(labelProblem(key.toLowerCase(), ''), field, key))
