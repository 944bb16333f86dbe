import type { Json } from '../kinds/json.ts'
import { type FieldError, invalid, Refusal } from '../kinds/status.ts'
import { forbiddenField, invalidValue, required, tooLong, unsupported } from '../validate/errors.ts'

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

const operations: Readonly<Record<string, string>> = { POST: 'Create', PUT: 'Update', PATCH: 'Patch' }

const longestManager = 128

const managerErrors = (manager: string | null): FieldError[] =>
  Buffer.byteLength(manager ?? '') > longestManager ? [tooLong('fieldManager', longestManager)] : []

const forceErrors = (force: string | null, applies: boolean): FieldError[] =>
  force === null || applies ? [] : [forbiddenField('force', 'may not be specified for non-apply patch')]

export const dryRunErrors = (values: readonly Json[]): FieldError[] =>
  values.some((value) => value !== 'All') ? [unsupported('dryRun', [...values], ['All'])] : []

/** Parses and validates the options; an apply must name its manager, any other write may be known by its User-Agent. */
export const optionsOf = (
  method: string,
  query: URLSearchParams,
  { userAgent, applies }: { userAgent: string | undefined; applies: boolean },
): Options => {
  const manager = query.get('fieldManager')
  const dryRun = query.getAll('dryRun').filter((value) => value !== '')
  const validation = query.get('fieldValidation') || 'Warn'
  const known = validations.find((each) => each === validation)
  const errors = [
    ...forceErrors(query.get('force'), applies || method !== 'PATCH'),
    ...(applies && !manager ? [required('fieldManager', 'is required for apply patch')] : []),
    ...managerErrors(manager),
    ...dryRunErrors(dryRun),
    ...(known === undefined ? [unsupported('fieldValidation', validation, ['', ...validations])] : []),
  ]
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: `${operations[method]}Options` }, '', errors)
  return {
    manager: manager || ((userAgent ?? '').split('/')[0] ?? '').slice(0, longestManager) || 'unknown',
    dryRun: dryRun.length > 0,
    force: query.get('force') === 'true',
    validation: known ?? 'Warn',
  }
}

/** The number in a resourceVersion parameter; 0 without one. */
export const versionOf = (text: string | null): number => {
  if (text === null || text === '') return 0
  if (!/^\d+$/.test(text)) {
    throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [
      invalidValue('resourceVersion', text, 'must be an unsigned integer'),
    ])
  }
  return Number(text)
}

export const expired = (asked: number, oldest: number): Refusal =>
  new Refusal(410, 'Expired', `too old resource version: ${asked} (${oldest})`)
