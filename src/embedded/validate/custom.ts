import { isIPv4, isIPv6 } from 'node:net'
import { parse } from '@marcbachmann/cel-js'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { at, isMap, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import { listKeys, type OpenApi } from '../kinds/open-api.ts'
import { fieldOf, type Shape } from '../kinds/schema.ts'
import type { FieldError } from '../kinds/status.ts'
import { duplicate, invalidValue, required, tooLong, tooMany, unsupported } from './errors.ts'

type Keyword = { (...given: never[]): boolean; errors?: Partial<ErrorObject>[] }

/** Tells Ajv of each error; without one the value is valid. */
const tells = (validate: Keyword, errors: Partial<ErrorObject>[]): boolean => {
  validate.errors = errors
  return errors.length === 0
}

const RULES = 'x-kubernetes-validations'
const KEYS = 'x-kubernetes-list-map-keys'

type Place = { readonly instancePath: string }
type Rule = { readonly rule: string; readonly message?: string }

const programs = new Map<string, (values: Record<string, unknown>) => unknown>()

/** Tells if a rule in CEL holds; one that cannot be evaluated does not. A rule about the old value is for updates alone. */
const ruleHolds = (rule: string, self: Json, oldSelf: Json | undefined): boolean => {
  if (rule.includes('oldSelf') && oldSelf === undefined) return true
  const program = programs.get(rule) ?? parse(rule)
  programs.set(rule, program)
  try {
    return program({ self, oldSelf }) === true
  } catch {
    return false
  }
}

function celRules(this: { previous?: JsonMap }, rules: Rule[], self: Json, _: unknown, place?: Place): boolean {
  const old = at(this.previous, ...tokensOf(place?.instancePath ?? ''))
  const broken = rules.filter(({ rule }) => !ruleHolds(rule, self, old))
  return tells(
    celRules,
    broken.map(({ rule, message = `failed rule: ${rule}` }) => ({ keyword: RULES, message })),
  )
}

/** Items of a list with keys have different ones. */
const distinctItems = (_: unknown, list: unknown, schema?: OpenApi, place?: Place): boolean => {
  const keys = Object.entries((schema && listKeys(schema)) ?? {})
  const named = listOf(list as Json).map((item) =>
    Object.fromEntries(keys.map(([key, other]) => [key, at(item, key) ?? other])),
  )
  const seen = new Set<string>()
  const index = named.findIndex((item) => seen.size === seen.add(JSON.stringify(item)).size)
  const repeated = { keyword: KEYS, params: { item: named[index] }, instancePath: `${place?.instancePath}/${index}` }
  return tells(distinctItems, index < 0 ? [] : [repeated])
}

const createAjv = (): Ajv => {
  const formats = { ipv4: isIPv4, ipv6: isIPv6, 'date-time': true, int32: true, int64: true } as const
  return new Ajv({ allErrors: true, formats, passContext: true, strict: false, verbose: true })
    .addKeyword({ keyword: RULES, validate: celRules, errors: true })
    .addKeyword({ keyword: KEYS, validate: distinctItems, errors: true })
}

let ajv: Ajv | undefined
const validators = new WeakMap<Kind, ValidateFunction>()

const validatorOf = (kind: Kind): ValidateFunction => {
  ajv ??= createAjv()
  const validator = validators.get(kind) ?? ajv.compile(kind.schema ?? {})
  validators.set(kind, validator)
  return validator
}

const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))

const within = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`)

/** The field at a JSON pointer. Rules in CEL name members of maps by a path of their own. */
const fieldAt = (pointer: string, { shape }: Kind, object: JsonMap, isRule: boolean): string => {
  let [field, inner, value]: [string, Shape | undefined, Json | undefined] = ['', shape, object]
  for (const token of tokensOf(pointer)) {
    const isList = Array.isArray(value)
    field = isList || (isRule && inner?.type === 'map') ? `${field}[${token}]` : within(field, token)
    inner = isList ? inner?.items : fieldOf(inner, token)
    value = isList ? listOf(value)[Number(token)] : at(value, token)
  }
  return field
}

/** JSON Schema's name of the type of a value. */
const typeOf = (value: Json): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (isMap(value)) return 'object'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** The API server's words for what Ajv finds. */
const words: Readonly<Record<string, (field: string, value: Json, error: ErrorObject) => FieldError>> = {
  type: (field, value, { schema }) => {
    const type = JSON.stringify(typeOf(value))
    const message = `Invalid value: ${type}: ${field} in body must be of type ${schema}: ${type}`
    return { field, reason: 'FieldValueTypeInvalid', message }
  },
  enum: (field, value, { params }) => unsupported(field, value, params.allowedValues),
  required: (field, _, { params }) => required(within(field, params.missingProperty)),
  maxLength: (field, _, { params }) => tooLong(field, params.limit),
  maxItems: (field, value, { params }) => tooMany(field, listOf(value).length, params.limit),
  maxProperties: (field, value, { params }) => tooMany(field, Object.keys(mapOf(value)).length, params.limit),
  minItems: (field, value, { params: { limit } }) =>
    invalidValue(field, listOf(value).length, `${field} in body should have at least ${limit} items`),
  [KEYS]: (field, _, { params }) => duplicate(field, params.item),
  [RULES]: (field, value, { message = '' }) =>
    typeof value === 'object'
      ? { field, reason: 'FieldValueInvalid', message: `Invalid value: ${message}` }
      : invalidValue(field, value, message),
}

const phrases: Readonly<Record<string, (limit: string) => string>> = {
  minLength: (limit) => `should be at least ${limit} chars long`,
  minimum: (limit) => `should be greater than or equal to ${limit}`,
  maximum: (limit) => `should be less than or equal to ${limit}`,
  pattern: (pattern) => `should match '${pattern}'`,
  oneOf: () => 'must validate one and only one schema (oneOf). Found none valid',
  anyOf: () => 'must validate at least one schema (anyOf)',
  not: () => 'must not validate the schema (not)',
}

const isRule = ({ keyword }: ErrorObject): boolean => keyword === RULES

const errorOf = (error: ErrorObject, kind: Kind, object: JsonMap): FieldError => {
  const { keyword, instancePath, data, params, message = '' } = error
  const field = fieldAt(instancePath, kind, object, isRule(error))
  const value = data as Json
  const told = words[keyword]
  if (told) return told(field, value, error)
  const phrase = phrases[keyword]?.(String(params.limit ?? params.pattern)) ?? message
  return invalidValue(field, value, `${field} in body ${phrase}`)
}

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

/** The errors of a custom resource's schema, and then its rules, outside the metadata; `previous` is the object that it replaces. */
export const customErrors = (kind: Kind, object: JsonMap, previous: JsonMap | undefined): FieldError[] => {
  const { metadata: _, ...rest } = mapOf(object)
  const validate = validatorOf(kind)
  if (validate.call({ previous }, rest)) return []
  // of alternatives only that none holds is told
  const found = (validate.errors ?? []).filter(({ schemaPath }) => !/\/(oneOf|anyOf|not)\//.test(schemaPath))
  const told = (errors: ErrorObject[]): FieldError[] => errors.map((error) => errorOf(error, kind, rest))
  const errors = told(found.filter((error) => !isRule(error)))
  if (errors.some(({ reason }) => blocking.includes(reason))) return [...errors, invalidValue('<nil>', null, unchecked)]
  const isUnique = errors.every(({ reason }) => reason === 'FieldValueDuplicate')
  return isUnique ? [...errors, ...told(found.filter(isRule))] : errors
}
