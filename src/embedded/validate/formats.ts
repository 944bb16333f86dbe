const dns1123Label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const qualifiedName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

type FormatRule = { readonly pattern: RegExp; readonly limit: number; readonly name: string }

const format = (pattern: string, limit: number, name: string): FormatRule => ({
  pattern: new RegExp(`^(?:${pattern})$`),
  limit,
  name,
})

const formats = {
  label: format(dns1123Label, 63, 'a lowercase RFC 1123 label'),
  'label-1035': format('[a-z]([-a-z0-9]*[a-z0-9])?', 63, 'a DNS-1035 label'),
  subdomain: format(`${dns1123Label}(\\.${dns1123Label})*`, 253, 'a lowercase RFC 1123 subdomain'),
  labelValue: format(`(${qualifiedName})?`, 63, 'a valid label value'),
  qualifiedName: format(qualifiedName, 63, 'a qualified name'),
} satisfies Record<string, FormatRule>

export type Format = keyof typeof formats

/** The problems of a text in this format; empty when it is valid. */
export const problems = (kind: Format, text: string): string[] => {
  const { pattern, limit, name } = formats[kind]
  if (Buffer.byteLength(text) > limit) return [`must be no more than ${limit} bytes`]
  return pattern.test(text) ? [] : [`must be ${name}`]
}

/** The problems of a label or annotation key, `[prefix/]name`. */
export const keyProblems = (key: string): string[] => {
  const [name = '', prefix, ...more] = key.split('/').toReversed()
  if (more.length > 0) return ['must be a qualified name with one prefix at most']
  return [...(prefix === undefined ? [] : problems('subdomain', prefix)), ...problems('qualifiedName', name)]
}
