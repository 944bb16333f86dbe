import { workload } from './client.ts'

type Body = Record<string, unknown>

/** What is wrong with a field of a refused object. */
export type Cause = readonly [field: string, reason: string, message: string]

/** The spec of a pod with one container; each may have other fields. */
export const podSpec = (container: Body, spec: Body): Body => ({
  containers: [{ name: 'c', image: 'example.invalid/x:1', ...container }],
  ...spec,
})

export const template = (spec: Body) =>
  workload('Deployment', { template: { metadata: { labels: { app: 'web' } }, spec } })

export const volume = (source: Body) => ({ volumes: [{ name: 'v', ...source }] })
export const mounted = (mount: Body): Body => ({ volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] })
export const invalid = (field: string, value: unknown, why: string): Cause => [
  field,
  'FieldValueInvalid',
  `Invalid value: ${JSON.stringify(value)}: ${why}`,
]
export const unsupported = (field: string, value: string, ...supported: string[]): Cause => [
  field,
  'FieldValueNotSupported',
  `Unsupported value: "${value}": supported values: ${supported.map((each) => `"${each}"`).join(', ')}`,
]
export const forbidden = (field: string, why: string): Cause => [field, 'FieldValueForbidden', `Forbidden: ${why}`]
export const required = (field: string, why = ''): Cause => [
  field,
  'FieldValueRequired',
  why === '' ? 'Required value' : `Required value: ${why}`,
]
export const duplicate = (field: string, value: string): Cause => [
  field,
  'FieldValueDuplicate',
  `Duplicate value: "${value}"`,
]

export const causesOf = (object: {
  details?: { causes?: { field: string; reason: string; message: string }[] }
}): Cause[] => (object.details?.causes ?? []).map(({ field, reason, message }) => [field, reason, message])
