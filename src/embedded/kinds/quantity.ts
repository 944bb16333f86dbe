import type { Json } from './json.ts'

const pattern = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/
const number = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$/

const decimals: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binaries = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

// A real API server holds no more than 64 bits, and here a larger exponent takes room
const mostExponent = 40
const most = 1000n * (2n ** 63n - 1n)

type Scale = { readonly form: 'decimal' | 'exponent' | 'binary'; readonly exponent: number }

const scaleOf = (suffix: string): Scale | undefined => {
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1]
  if (exponent !== undefined)
    return { form: 'exponent', exponent: Math.max(-mostExponent, Math.min(mostExponent, Number(exponent))) }
  const binary = binaries.indexOf(suffix)
  if (binary > 0) return { form: 'binary', exponent: binary }
  return Object.hasOwn(decimals, suffix) ? { form: 'decimal', exponent: Number(decimals[suffix]) } : undefined
}

/** Rounds away from zero. */
const divided = (value: bigint, by: bigint): bigint => {
  const rest = value % by
  return value / by + (rest > 0n ? 1n : rest < 0n ? -1n : 0n)
}

type Quantity = { readonly thousandths: bigint; readonly form: Scale['form'] }

const parsed = (value: Json | undefined): Quantity | undefined => {
  const [, digits = '', suffix = ''] = pattern.exec(String(value)) ?? []
  const scale = scaleOf(suffix)
  if (scale === undefined || !number.test(digits)) return undefined
  const [whole = '', fraction = ''] = digits.replace(/^[+-]/, '').split('.')
  const sign = digits.startsWith('-') ? -1n : 1n
  const isBinary = scale.form === 'binary'
  const shift = 3 - fraction.length + (isBinary ? 0 : scale.exponent)
  const mantissa = sign * BigInt(whole + fraction) * (isBinary ? 1024n ** BigInt(scale.exponent) : 1n)
  const exact = shift < 0 ? divided(mantissa, 10n ** BigInt(-shift)) : mantissa * 10n ** BigInt(shift)
  return { thousandths: exact > most ? most : exact < -most ? -most : exact, form: scale.form }
}

/**
 * The amount of a quantity in thousandths, rounded up; undefined for an invalid one. See
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export const amountOf = (quantity: Json | undefined): bigint | undefined => parsed(quantity)?.thousandths

const shortest = (value: bigint, base: bigint, power = 0): { value: bigint; power: number } =>
  value % base === 0n && power < 6 ? shortest(value / base, base, power + 1) : { value, power }

/** A quantity as the API server stores it: in whole numbers with the largest suffix. An invalid one stays as it is. */
export const canonical = (quantity: Json): Json => {
  const read = parsed(quantity)
  if (read === undefined) return quantity
  const { thousandths, form } = read
  if (thousandths === 0n) return '0'
  const isLarge = thousandths >= 1_024_000n || thousandths <= -1_024_000n
  if (form === 'binary' && isLarge && thousandths % 1000n === 0n) {
    const { value, power } = shortest(thousandths / 1000n, 1024n)
    return `${value}${binaries[power]}`
  }
  const { value, power } = shortest(thousandths, 1000n)
  const exponent = 3 * (power - 1)
  if (form === 'exponent') return exponent === 0 ? String(value) : `${value}e${exponent}`
  return `${value}${['m', '', 'k', 'M', 'G', 'T', 'P'][power]}`
}

/** The API server's words for an invalid quantity. */
export const quantityProblem = (value: Json): string | undefined => {
  if (parsed(value) !== undefined) return undefined
  return number.test(pattern.exec(String(value))?.[1] ?? '')
    ? "unable to parse quantity's suffix"
    : "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
}
