import { createHash } from 'node:crypto'

type LabelParts = {
  readonly model: string
  readonly application: string
  readonly prefix?: string
  readonly suffix?: string
  readonly maximumLength?: number
  /** The separator. The charm library counts it as one character. */
  readonly separator?: string
}

const HASH_LENGTH = 6

/**
 * Builds `{prefix}{model}{separator}{application}{suffix}` if it fits. Otherwise model and application are cut in proportion, with a hash of both before
 * the suffix. The result equals that of the charm library's `charm_kubernetes_label`. Throws RangeError if nothing would be left of them.
 */
export const charmKubernetesLabel = ({
  model,
  application,
  prefix = '',
  suffix = '',
  maximumLength = 63,
  separator = '.',
}: LabelParts): string => {
  if (model === '' || application === '')
    throw new RangeError('Both model_name and app_name must be at least 1 character long.')
  const name = `${model}${separator}${application}`
  if (prefix.length + name.length + suffix.length <= maximumLength) return `${prefix}${name}${suffix}`

  const fixed = prefix.length + suffix.length + HASH_LENGTH + 2
  if (fixed + 2 > maximumLength)
    throw new RangeError(
      `Fixed label portion (prefix, suffix, hash, and separator) is too long (${fixed} chars); must leave at least 1 character each for model_name and app_name to fit within the ${maximumLength} character limit.`,
    )
  const available = maximumLength - fixed
  const modelLength = Math.max(1, Math.floor((available * model.length) / (model.length + application.length)))
  const parts = [
    model.slice(0, modelLength),
    application.slice(0, available - modelLength),
    digest('sha1', name, HASH_LENGTH),
  ]
  return `${prefix}${parts.join(separator)}${suffix}`
}

/** Truncates a label value to 63 characters as coordinated workers do: 54 characters, a hyphen and a hash. */
export const truncateLabelValue = (value: string): string =>
  value.length <= 63 ? value : `${value.slice(0, 54)}-${digest('sha256', value, 8)}`

const digest = (algorithm: 'sha1' | 'sha256', text: string, length: number): string =>
  createHash(algorithm).update(text).digest('hex').slice(0, length)
