import { isIPv4, isIPv6 } from 'node:net'
import { parse } from '@marcbachmann/cel-js'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { at, type Json, type JsonMap } from '../../platform/base/json.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FieldError } from '../kinds/status.ts'
import { invalidValue } from './errors.ts'

const RULES = 'x-kubernetes-validations'

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

function checkRules(this: { previous?: JsonMap }, rules: Rule[], self: Json, _: unknown, place?: Place): boolean {
  const old = valueAt(this.previous, place?.instancePath ?? '')
  const broken = rules.filter(({ rule }) => !ruleHolds(rule, self, old))
  checkRules.errors = broken.map(({ rule, message = `failed rule: ${rule}` }) => ({ keyword: RULES, message }))
  return broken.length === 0
}
checkRules.errors = [] as Partial<ErrorObject>[]

const createAjv = (): Ajv => {
  const formats = { ipv4: isIPv4, ipv6: isIPv6, 'date-time': true, int32: true, int64: true } as const
  return new Ajv({ allErrors: true, formats, passContext: true, strict: false, verbose: true }).addKeyword({
    keyword: RULES,
    validate: checkRules,
    errors: true,
  })
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

const valueAt = (object: Json | undefined, pointer: string): Json | undefined =>
  tokensOf(pointer).reduce<Json | undefined>(
    (value, token) => (Array.isArray(value) ? value[Number(token)] : at(value, token)),
    object,
  )

const fieldAt = (pointer: string): string =>
  tokensOf(pointer).reduce((field, token) => {
    if (/^\d+$/.test(token)) return `${field}[${token}]`
    return field === '' ? token : `${field}.${token}`
  }, '')

const errorOf = ({ keyword, instancePath, data, params, message = '' }: ErrorObject): FieldError => {
  const why = keyword === 'enum' ? `${message}: ${params.allowedValues.join(', ')}` : message
  return invalidValue(fieldAt(instancePath), data as Json, why)
}

/** The errors of a custom resource by its schema and the rules in it, outside the metadata; `previous` is the object that it replaces. */
export const customErrors = (kind: Kind, object: JsonMap, previous: JsonMap | undefined): FieldError[] => {
  const { metadata: _, ...rest } = object
  const validate = validatorOf(kind)
  return validate.call({ previous }, rest) ? [] : (validate.errors ?? []).map(errorOf)
}
