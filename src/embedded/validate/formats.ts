/** Text formats of names, labels and keys, with the API server's error messages. */

const dns1123Label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const dns1123Subdomain = `${dns1123Label}(\\.${dns1123Label})*`
const dns1035Label = '[a-z]([-a-z0-9]*[a-z0-9])?'
const qualifiedName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelValue = `(${qualifiedName})?`
const dataKey = '[-._a-zA-Z0-9]+'

type FormatRule = { readonly pattern: RegExp; readonly limit: number; readonly hint: string }

const format = (pattern: string, limit: number, intro: string, ...examples: string[]): FormatRule => {
  const quoted = examples.map((example, index) => (index === 0 ? `e.g. '${example}', ` : ` or '${example}', `))
  const hint = `${intro} (${quoted.join('')}regex used for validation is '${pattern}')`
  return { pattern: new RegExp(`^(?:${pattern})$`), limit, hint }
}

const alphanumerics = "alphanumeric characters, '-', '_' or '.'"
const bothEnds = 'and must start and end with an alphanumeric character'
const lowercase = 'must consist of lower case alphanumeric characters'
const dnsLabel = `a lowercase RFC 1123 label ${lowercase} or '-', ${bothEnds}`
const dns1035 = `a DNS-1035 label ${lowercase} or '-', start with an alphabetic character, and end with an alphanumeric character`
const dnsSubdomain = `a lowercase RFC 1123 subdomain ${lowercase}, '-' or '.', ${bothEnds}`
const value = `a valid label must be an empty string or consist of ${alphanumerics}, ${bothEnds}`
const key = `a valid config key must consist of ${alphanumerics}`

const formats = {
  label: format(dns1123Label, 63, dnsLabel, 'my-name', '123-abc'),
  'label-1035': format(dns1035Label, 63, dns1035, 'my-name', 'abc-123'),
  subdomain: format(dns1123Subdomain, 253, dnsSubdomain, 'example.com'),
  labelValue: format(labelValue, 63, value, 'MyValue', 'my_value', '12345'),
  qualifiedName: format(
    qualifiedName,
    63,
    `must consist of ${alphanumerics}, ${bothEnds}`,
    'MyName',
    'my.name',
    '123-abc',
  ),
  dataKey: format(dataKey, 253, key, 'key.name', 'KEY_NAME', 'key-name'),
} satisfies Record<string, FormatRule>

export type Format = keyof typeof formats

/** The problems of a text in this format; empty when it is valid. */
export const problems = (kind: Format, text: string): string[] => {
  const { pattern, limit, hint } = formats[kind]
  const tooLong = Buffer.byteLength(text) > limit ? [`must be no more than ${limit} bytes`] : []
  return pattern.test(text) ? tooLong : [...tooLong, hint]
}

/** The problems of a key of a ConfigMap or a Secret, which is the name of a file. */
export const dataKeyProblems = (key: string): string[] => {
  if (!key.startsWith('..')) return [...problems('dataKey', key), ...(key === '.' ? ["must not be '.'"] : [])]
  return [...problems('dataKey', key), key === '..' ? "must not be '..'" : "must not start with '..'"]
}

/** The problems of a label or annotation key, `[prefix/]name`. */
export const keyProblems = (key: string): string[] => {
  const parts = key.split('/')
  if (parts.length > 2) {
    return [
      `a qualified name ${formats.qualifiedName.hint} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const name = parts.at(-1) ?? ''
  const prefix = parts.length === 2 ? (parts[0] ?? '') : undefined
  const named = problems('qualifiedName', name).map((problem) => `name part ${problem}`)
  return [...prefixProblems(prefix), ...(name === '' ? ['name part must be non-empty'] : []), ...named]
}

const prefixProblems = (prefix: string | undefined): string[] => {
  if (prefix === undefined) return []
  if (prefix === '') return ['prefix part must be non-empty']
  return problems('subdomain', prefix).map((problem) => `prefix part ${problem}`)
}
