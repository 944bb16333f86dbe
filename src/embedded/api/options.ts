import type { Json } from '../../platform/base/json.ts'
import { Refusal } from '../kinds/status.ts'
import type { Call } from './call.ts'

const validations = ['Ignore', 'Strict', 'Warn'] as const

/** The treatment of undeclared fields: removed in silence, refused, or removed with a warning. */
export type FieldValidation = (typeof validations)[number]

/** The options of a write, from the query. */
export type Options = {
  readonly manager: string
  readonly dryRun: boolean
  readonly force: boolean
  readonly validation: FieldValidation
}

const invalidOption = (why: string): Refusal => new Refusal(422, 'Invalid', why)

/** Refuses half a dry run: it would write. */
export const isDryRun = (values: readonly Json[]): boolean => {
  const asked = values.filter((value) => value !== '')
  if (asked.some((value) => value !== 'All')) throw invalidOption('dryRun: expected All')
  return asked.length > 0
}

/** Parses the options; an apply must name its manager, any other write may be known by its User-Agent. */
export const optionsOf = ({ request, query }: Call, applies = false): Options => {
  const manager = query.get('fieldManager')
  const validation = query.get('fieldValidation')
  if (applies && !manager) throw invalidOption('fieldManager: an apply names its manager')
  return {
    manager: manager || (request.headers['user-agent'] ?? '').split('/')[0] || 'unknown',
    dryRun: isDryRun(query.getAll('dryRun')),
    force: query.get('force') === 'true',
    validation: validations.find((each) => each === validation) ?? 'Warn',
  }
}

/** The number in a resourceVersion parameter; 0 without one. */
export const versionOf = (text: string | null): number => {
  if (text === null || text === '') return 0
  if (!/^\d+$/.test(text)) throw invalidOption(`resourceVersion: expected a number, got ${text}`)
  return Number(text)
}

export const expired = (asked: number, oldest: number): Refusal =>
  new Refusal(410, 'Expired', `too old resource version: ${asked} (${oldest})`)
