import type { Json } from '../../platform/base/json.ts'

const pattern = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/
const number = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$/

/** Each is a thousand of the one before. */
const decimals = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binaries = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

const one = 1_000_000_000n

// a larger exponent takes room
const mostExponent = 40

type Scale = { readonly form: 'decimal' | 'exponent' | 'binary'; readonly exponent: number }

const scaleOf = (suffix: string): Scale | undefined => {
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1]
  if (exponent !== undefined)
    return { form: 'exponent', exponent: Math.max(-mostExponent, Math.min(mostExponent, Number(exponent))) }
  const binary = binaries.indexOf(suffix)
  if (binary > 0) return { form: 'binary', exponent: binary }
  const decimal = decimals.indexOf(suffix)
  return decimal < 0 ? undefined : { form: 'decimal', exponent: 3 * (decimal - decimals.indexOf('')) }
}

/** Rounds away from zero. */
const divided = (value: bigint, by: bigint): bigint => {
  const rest = value % by
  return value / by + (rest > 0n ? 1n : rest < 0n ? -1n : 0n)
}

type Quantity = { readonly billionths: bigint; readonly form: Scale['form'] }

const parsed = (value: Json | undefined): Quantity | undefined => {
  const [, digits = '', suffix = ''] = pattern.exec(String(value)) ?? []
  const scale = scaleOf(suffix)
  if (scale === undefined || !number.test(digits)) return undefined
  const [whole = '', fraction = ''] = digits.replace(/^[+-]/, '').split('.')
  const sign = digits.startsWith('-') ? -1n : 1n
  const isBinary = scale.form === 'binary'
  const shift = 9 - fraction.length + (isBinary ? 0 : scale.exponent)
  const mantissa = BigInt(whole + fraction) * (isBinary ? 1024n ** BigInt(scale.exponent) : 1n)
  const exact = shift < 0 ? divided(mantissa, 10n ** BigInt(-shift)) : mantissa * 10n ** BigInt(shift)
  return { billionths: sign * exact, form: scale.form }
}

const shortest = (value: bigint, base: bigint, power = 0): { value: bigint; power: number } =>
  value % base === 0n ? shortest(value / base, base, power + 1) : { value, power }

const written = ({ billionths, form }: Quantity): string => {
  if (billionths === 0n) return '0'
  const isLarge = billionths >= 1024n * one || billionths <= -1024n * one
  if (form === 'binary' && isLarge && billionths % one === 0n) {
    const { value, power } = shortest(billionths / one, 1024n)
    return `${value}${binaries[power]}`
  }
  const { value, power } = shortest(billionths, 1000n)
  const exponent = 3 * (power - decimals.indexOf(''))
  // there is no suffix above E
  const suffix = form === 'exponent' ? undefined : decimals[power]
  return `${value}${suffix ?? (exponent === 0 ? '' : `e${exponent}`)}`
}

/** A quantity as the API server stores it: in whole numbers with the largest suffix. An invalid one stays as it is. */
export const canonical = (quantity: Json): Json => {
  const read = parsed(quantity)
  return read === undefined ? quantity : written(read)
}

export const isQuantity = (value: Json): boolean => parsed(value) !== undefined
