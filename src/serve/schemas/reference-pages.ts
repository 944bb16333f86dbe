import { type JsonSchema, PORT_TEXT } from './convert.ts'

/** A place in the data, and the values that it may have. */
type Row = {
  readonly path: string
  readonly meaning: string
  readonly type: string
  readonly limits: string
  readonly isRequired: boolean
}

const membersOf = (schema: JsonSchema): readonly JsonSchema[] => {
  const members = schema.anyOf ?? schema.oneOf
  return Array.isArray(members) ? members : []
}

const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``

const typeOf = (schema: JsonSchema): string => {
  if ('const' in schema) return code(schema.const)
  if (Array.isArray(schema.enum)) return schema.enum.map(code).join(', ')
  const members = membersOf(schema)
  if (members.length > 0) return [...new Set(members.map(typeOf))].join(' or ')
  if (schema.type === 'array') return `list of ${typeOf((schema.items ?? {}) as JsonSchema)}`
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  return typeof schema.type === 'string' ? schema.type : 'anything'
}

/** Names for patterns. */
const NAMED: Readonly<Record<string, string>> = {
  [PORT_TEXT]: 'text is digits',
  '^(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$': 'a DNS label',
  '^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$': 'a DNS name',
}

/** Formats a bound. JavaScript's largest integer means that there is none. */
const boundOf = (value: unknown): string | undefined =>
  typeof value === 'number' && Math.abs(value) !== Number.MAX_SAFE_INTEGER ? String(value) : undefined

const rangeOf = (least: unknown, most: unknown, unit: string): string[] => {
  const [from, to] = [boundOf(least), boundOf(most)]
  if (from !== undefined && to !== undefined) return [`${from} to ${to}${unit}`]
  if (from !== undefined) return [`at least ${from}${unit}`]
  return to === undefined ? [] : [`at most ${to}${unit}`]
}

const textLimitsOf = ({ format, pattern }: JsonSchema): string[] => {
  if (format !== undefined) return [`${format}`]
  return pattern === undefined ? [] : [NAMED[`${pattern}`] ?? `matches ${code(pattern)}`]
}

const limitsOf = (schema: JsonSchema): string => {
  const own = [
    ...rangeOf(schema.minimum, schema.maximum, ''),
    ...rangeOf(schema.exclusiveMinimum, undefined, ', not itself'),
    ...rangeOf(schema.minLength, schema.maxLength, ' characters'),
    ...rangeOf(schema.minItems, schema.maxItems, ' members'),
    ...textLimitsOf(schema),
    ...('default' in schema ? [`default ${code(schema.default)}`] : []),
  ]
  const inner = [...membersOf(schema), ...(schema.type === 'array' ? [(schema.items ?? {}) as JsonSchema] : [])]
  return [...new Set([...own, ...inner.map(limitsOf).filter((text) => text !== '')])].join('; ')
}

/** Names one of several forms by the key that distinguishes it. */
const formOf = (schema: JsonSchema): string => {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>
  const [key] = Object.keys(properties).filter((name) => 'const' in (properties[name] ?? {}))
  return key === undefined ? '' : ` (${key}: ${String(properties[key]?.const)})`
}

const rowsOf = (path: string, schema: JsonSchema, isRequired: boolean): Row[] => [
  { path, meaning: `${schema.description ?? ''}`, type: typeOf(schema), limits: limitsOf(schema), isRequired },
  ...below(path, schema),
]

/** Lists the places below one: its keys, those of its members, and those of its possible forms. */
const below = (path: string, schema: JsonSchema): Row[] => {
  const members = membersOf(schema).filter(({ type }) => type !== 'null')
  const forms = members.flatMap((member) => below(members.length > 1 ? `${path}${formOf(member)}` : path, member))
  const required = (schema.required ?? []) as readonly string[]
  const keys = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([key, value]) =>
    rowsOf(path === '' ? key : `${path}.${key}`, value, required.includes(key)),
  )
  const others = schema.additionalProperties
  const rest = typeof others === 'object' && others !== null ? below(`${path}.*`, others as JsonSchema) : []
  const items = schema.type === 'array' ? below(`${path}[]`, (schema.items ?? {}) as JsonSchema) : []
  return [...forms, ...keys, ...rest, ...items]
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/** Removes duplicate rows. Forms that differ in one key share the others. */
const unique = (rows: readonly Row[]): Row[] => [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]

const tableOf = (rows: readonly Row[]): string =>
  [
    '| key | meaning | type | limits |',
    '| --- | --- | --- | --- |',
    ...unique(rows).map(({ path, meaning, type, limits, isRequired }) =>
      cells([`\`${path}\`${isRequired ? ', required' : ''}`, meaning, type, limits]),
    ),
  ].join('\n')

const cells = (texts: readonly string[]): string => `| ${texts.map((text) => cell(text)).join(' | ')} |`

const HEAD = 'Generated from the schemas by `npm run schemas`: do not edit it here.'

/** Writes a page with each key of the config, and a section for each top-level key. */
export const configPage = (schema: JsonSchema): string => {
  const sections = Object.entries(schema.properties as Record<string, JsonSchema>).map(
    ([key, value]) => `## ${key}\n\n${tableOf(rowsOf(key, value, false))}\n`,
  )
  return `# Keys of the config\n\n${HEAD} [Config](../config.md) explains how they go together. A key that is not here is refused.\n\n${sections.join('\n')}`
}

export type Message = { readonly name: string; readonly type: string; readonly schema: JsonSchema }

/** Writes a page with the data of each event. The config has its own page. */
export const eventsPage = (messages: readonly Message[]): string => {
  const sections = messages.map(({ name, type, schema }) => {
    const { config, ...others } = schema.properties as Record<string, JsonSchema>
    const properties = { ...others, ...(config && { config: { type: 'object', description: config.description } }) }
    const link = config ? ' Its `config` has [these keys](config.md).' : ''
    return `## ${name}\n\nType \`${type}\`, taken by \`POST /${name}\`; [JSON Schema](${name}.schema.json).${link}\n\n${tableOf(below('', { ...schema, properties }))}\n`
  })
  return `# Data of the events\n\n${HEAD} [Events](../events.md) explains when each is sent. \`namespace\` and \`application\` may be in the subject instead. A key that is not here is refused.\n\n${sections.join('\n')}`
}
