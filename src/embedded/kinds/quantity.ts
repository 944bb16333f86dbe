import type { Json } from './json.ts'

const pattern = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/
const number = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$/

const scales: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

const scaleOf = (suffix: string): number | undefined => {
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1]
  if (exponent !== undefined) return 10 ** Number(exponent)
  return Object.hasOwn(scales, suffix) ? scales[suffix] : undefined
}

/**
 * The amount of a quantity; undefined for an invalid one. See
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export const amountOf = (quantity: Json | undefined): number | undefined => {
  const [, digits = '', suffix = ''] = pattern.exec(String(quantity)) ?? []
  const scale = scaleOf(suffix)
  return scale === undefined || !number.test(digits) ? undefined : Number(digits) * scale
}

/** The API server's words for an invalid quantity. */
export const quantityProblem = (value: Json): string | undefined => {
  if (amountOf(value) !== undefined) return undefined
  if (pattern.test(String(value)) && number.test(pattern.exec(String(value))?.[1] ?? ''))
    return "unable to parse quantity's suffix"
  return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
}
