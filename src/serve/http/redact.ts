import { isSecret } from '../../core/workload/secrets.ts'
import { DEEPEST } from '../../platform/base/depth.ts'
import { isRecord } from '../../platform/base/own-value.ts'

const HIDDEN = '…'

/** Keys of a config that may hold secret values, if it, or a part of it, is text. */
const HOLDERS = ['podSpec', 'containers', 'env', 'envConfig', 'secrets']

/** Tells if a text is JSON, YAML or an assignment, in any encoding, with a key that holds secret values. */
const mayHoldSecrets = (text: string): boolean =>
  [...text.matchAll(/\b(\w{1,80})["'\\\s]{0,16}[:=]/g)].some(
    ([, name = '']) => HOLDERS.includes(name) || isSecret(name, ''),
  )

/** Removes secrets from a JSON value for logs. A config that is text is left out completely. */
export const redacted = (
  value: unknown,
  secretEnv: Readonly<Record<string, boolean>> = {},
  levels = DEEPEST,
): unknown => {
  if (typeof value === 'string') return mayHoldSecrets(value) || isSecret('', value) ? HIDDEN : value
  if (value instanceof Uint8Array || levels === 0) return HIDDEN
  if (Array.isArray(value)) return value.map((one) => redacted(one, secretEnv, levels - 1))
  if (!isRecord(value)) return value
  const rules = isRecord(value.secretEnv) ? (value.secretEnv as Record<string, boolean>) : secretEnv
  const { name } = value
  const entries = Object.entries(value).map(([key, member]) => {
    const isValue = key === 'value' && typeof name === 'string' && isSecret(name, String(member), rules)
    const isHidden =
      isValue || key === 'secrets' || (typeof member !== 'object' && isSecret(key, String(member), rules))
    return [key, isHidden ? HIDDEN : redacted(member, rules, levels - 1)] as const
  })
  return Object.fromEntries(entries)
}
