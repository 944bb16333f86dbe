import { isMap, type Json, listOf, mapOf } from '../kinds/json.ts'
import { fieldOf, type Shape } from '../kinds/schema.ts'
import type { FieldError } from '../kinds/status.ts'
import { invalidValue, required, unsupported } from './errors.ts'

const wholes = ['int32', 'int64']

/** JSON Schema's names of the types of a value and a shape. */
const typeOf = (value: Json): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (isMap(value)) return 'object'
  return Number.isInteger(value) ? 'integer' : typeof value
}

const askedType = ({ type }: Shape): string => {
  if (type === 'list') return 'array'
  if (type === 'struct' || type === 'map') return 'object'
  if (wholes.includes(type)) return 'integer'
  return type === 'bool' ? 'boolean' : 'string'
}

const typeError = (value: Json, shape: Shape, field: string): FieldError | undefined => {
  const [sent, asked] = [typeOf(value), askedType(shape)]
  if (sent === asked) return undefined
  const type = JSON.stringify(sent)
  const message = `Invalid value: ${type}: ${field} in body must be of type ${asked}: ${type}`
  return { field, reason: 'FieldValueTypeInvalid', message }
}

const textErrors = (value: Json, shape: Shape, field: string): FieldError[] => {
  if (typeof value !== 'string') return []
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, enum: values } = shape
  const long = { field, reason: 'FieldValueTooLong', message: `Too long: may not be more than ${maxLength} bytes` }
  return [
    ...(value.length > maxLength ? [long] : []),
    ...(value.length < minLength
      ? [invalidValue(field, value, `${field} in body should be at least ${minLength} chars long`)]
      : []),
    ...(pattern !== undefined && !new RegExp(pattern).test(value)
      ? [invalidValue(field, value, `${field} in body should match '${pattern}'`)]
      : []),
    ...(values && !values.includes(value) ? [unsupported(field, value, values)] : []),
  ]
}

const rangeErrors = (value: Json, { minimum, maximum }: Shape, field: string): FieldError[] => {
  const low = minimum !== undefined && Number(value) < minimum
  const high = maximum !== undefined && Number(value) > maximum
  return [
    ...(low ? [invalidValue(field, value, `${field} in body should be greater than or equal to ${minimum}`)] : []),
    ...(high ? [invalidValue(field, value, `${field} in body should be less than or equal to ${maximum}`)] : []),
  ]
}

const countErrors = (value: Json, { minItems = 0, maxItems = Number.POSITIVE_INFINITY }: Shape, field: string) => {
  const { length } = listOf(value)
  const many = {
    field,
    reason: 'FieldValueTooMany',
    message: `Too many: ${length}: must have at most ${maxItems} items`,
  }
  if (length > maxItems) return [many]
  if (length >= minItems) return []
  return [invalidValue(field, length, `${field} in body should have at least ${minItems} items`)]
}

const missingErrors = (value: Json, { required: names = [] }: Shape, field: string): FieldError[] =>
  names.filter((name) => mapOf(value)[name] === undefined).map((name) => required(within(field, name)))

const within = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`)

const duplicateErrors = (value: Json, { keys }: Shape, field: string): FieldError[] => {
  if (keys === undefined) return []
  const named = listOf(value).map((item) =>
    Object.fromEntries(Object.entries(keys).map(([key, other]) => [key, mapOf(item)[key] ?? other])),
  )
  const texts = named.map((each) => JSON.stringify(each))
  return texts.flatMap((text, index) =>
    texts.indexOf(text) === index
      ? []
      : [{ field: `${field}[${index}]`, reason: 'FieldValueDuplicate', message: `Duplicate value: ${text}` }],
  )
}

type Child = { readonly value: Json; readonly shape: Shape; readonly field: string }

const childrenOf = (value: Json, shape: Shape, field: string, isRule: boolean): Child[] => {
  const { items } = shape
  if (items) return listOf(value).map((item, index) => ({ value: item, shape: items, field: `${field}[${index}]` }))
  return Object.entries(mapOf(value)).flatMap(([key, member]) => {
    const inner = fieldOf(shape, key)
    // CEL names members of maps by a path of its own
    const path = isRule && shape.type === 'map' ? `${field}[${key}]` : within(field, key)
    return inner && member !== undefined ? [{ value: member, shape: inner, field: path }] : []
  })
}

const schemaErrors = (value: Json, shape: Shape, field: string): FieldError[] => {
  if (shape.type === 'any') return []
  const wrong = typeError(value, shape, field)
  if (wrong) return [wrong, ...(shape.enum ? [unsupported(field, value, shape.enum)] : [])]
  return [
    ...textErrors(value, shape, field),
    ...rangeErrors(value, shape, field),
    ...(shape.type === 'list' ? countErrors(value, shape, field) : []),
    ...duplicateErrors(value, shape, field),
    ...missingErrors(value, shape, field),
    ...childrenOf(value, shape, field, false).flatMap((child) => schemaErrors(child.value, child.shape, child.field)),
  ]
}

const ruleErrors = (value: Json, shape: Shape, field: string): FieldError[] => [
  ...(shape.rules ?? [])
    .filter(({ holds }) => !holds(value))
    .map(({ message }) =>
      typeof value === 'object'
        ? { field, reason: 'FieldValueInvalid', message: `Invalid value: ${message}` }
        : invalidValue(field, value, message),
    ),
  ...childrenOf(value, shape, field, true).flatMap((child) => ruleErrors(child.value, child.shape, child.field)),
]

const unchecked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

/** Errors that keep the rules of a schema from being evaluated. */
const blocking = [
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]

/** The errors of a custom resource's schema, and then its rules, outside the metadata. */
export const customErrors = (object: Json, shape: Shape): FieldError[] => {
  const { metadata: _, ...rest } = mapOf(object)
  const errors = schemaErrors(rest, shape, '')
  const isBlocked = errors.some(({ reason }) => blocking.includes(reason))
  if (isBlocked) return [...errors, invalidValue('<nil>', null, unchecked)]
  const isUnique = errors.every(({ reason }) => reason === 'FieldValueDuplicate')
  return isUnique ? [...errors, ...ruleErrors(rest, shape, '')] : errors
}
