import { composeAtOnce, type Options, withoutText } from './yaml.ts'

export type Structured = { value: unknown } | { unreadable: string }

/** The limit of YAML in characters. YAML parses far slower than JSON. */
const LONGEST_YAML = 16 * 1024

/** Parses JSON, or plain YAML of up to `longest` characters. */
export const readText = (text: string, longest = LONGEST_YAML): Structured => {
  const json = parseJson(text)
  return json === undefined ? readYaml(text, 'core', longest) : { value: json }
}

/** Parses one plain YAML scalar as text: `8080` is `"8080"`, `true` is `"true"`. */
export const readScalar = (text: string, longest = LONGEST_YAML): { value: string } | { unreadable: string } => {
  const read = readYaml(text, 'failsafe', longest)
  if ('unreadable' in read) return read
  return typeof read.value === 'string' ? { value: read.value } : { unreadable: 'expected a single value' }
}

/** Parses JSON. Returns undefined for invalid JSON, which may be YAML or plain text. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses JSON. Returns invalid JSON as text. */
export const jsonOrText = (text: string): unknown => {
  const json = parseJson(text)
  return json === undefined ? text : json
}

/** The form of YAML in an event or in a document. */
export const PLAIN: Options = { isPlain: true, uniqueKeys: true }

/** Parses plain YAML. The schema `failsafe` has no numbers, booleans or nulls. */
const readYaml = (text: string, schema: 'core' | 'failsafe', longest: number): Structured => {
  if (text.length > longest)
    return { unreadable: `expected JSON, or YAML of at most ${longest} characters, got ${text.length}` }
  try {
    const [document, ...more] = composeAtOnce(text, { ...PLAIN, schema })
    if (more.length > 0) return { unreadable: 'expected one document in YAML, got more' }
    return { value: document?.toJS({ maxAliasCount: 0 }) ?? null }
  } catch (error) {
    return { unreadable: `neither JSON nor YAML: ${withoutText(error as Error)}` }
  }
}

/** Returns the message of JSON.parse without the quoted text, which may be secret. */
export const jsonProblem = (error: Error): string =>
  error.message.replace(/(^|, )(\.\.\.)?".*$/s, '').replace(/\p{Cc}/gu, ' ')
