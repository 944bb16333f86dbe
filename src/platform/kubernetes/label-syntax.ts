import { DNS_SUBDOMAIN } from '../base/names.ts'

const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

/**
 * Returns the reason why Kubernetes would refuse the label, if any
 * (kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set).
 */
export const labelProblem = (key: string, value: unknown): string | undefined => keyProblem(key) ?? valueProblem(value)

const keyProblem = (key: string): string | undefined => {
  const parts = key.split('/')
  const name = parts.at(-1) ?? ''
  if (parts.length > 2) return 'the key has more than one slash'
  if (parts.length === 2 && !DNS_SUBDOMAIN.test(parts[0] ?? ''))
    return 'the prefix of the key is not a DNS subdomain of at most 253 characters'
  if (name.length > 63) return `the name of the key has ${name.length} characters, at most 63 are allowed`
  if (!NAME.test(name))
    return 'the name of the key must be letters, digits, - _ . and begin and end with a letter or digit'
  return undefined
}

const valueProblem = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return `the value must be a string, not ${JSON.stringify(value)?.slice(0, 40)}`
  if (value.length > 63) return `the value has ${value.length} characters, at most 63 are allowed`
  if (!VALUE.test(value)) return 'the value must be letters, digits, - _ . and begin and end with a letter or digit'
  return undefined
}
