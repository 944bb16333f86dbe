import { parse as parseYaml } from 'yaml'

export type Structured = { value: unknown } | { unreadable: string }

/** YAML takes far longer to read than JSON of the same length: this many characters of it are read. */
const LONGEST_YAML = 16 * 1024

/** Reads the value that a text of JSON or, up to `longest` characters, of YAML says. */
export const readText = (text: string, longest = LONGEST_YAML): Structured => {
  const json = parseJson(text)
  return json === undefined ? readYaml(text, 'core', longest) : { value: json }
}

/** Reads the one plain value that a text says, quoted or not, as text: `8080` is `"8080"`, `true` is `"true"`. */
export const readScalar = (text: string, longest = LONGEST_YAML): { value: string } | { unreadable: string } => {
  const read = readYaml(text, 'failsafe', longest)
  if ('unreadable' in read) return read
  return typeof read.value === 'string' ? { value: read.value } : { unreadable: 'expected a single value' }
}

/** Parses JSON; undefined for a text that is none: it may be YAML, or plain text. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses JSON; a text that is none is what it is. */
export const jsonOrText = (text: string): unknown => {
  const json = parseJson(text)
  return json === undefined ? text : json
}

/** The schema `failsafe` knows no numbers, booleans and nulls. */
const readYaml = (text: string, schema: 'core' | 'failsafe', longest: number): Structured => {
  if (text.length > longest)
    return { unreadable: `expected JSON, or YAML of at most ${longest} characters, got ${text.length}` }
  try {
    return { value: parseYaml(text, { schema, maxAliasCount: 0, uniqueKeys: false, logLevel: 'error' }) }
  } catch (error) {
    const [problem = ''] = (error as Error).message.split('\n')
    return { unreadable: `neither JSON nor YAML: ${problem.slice(0, 160)}` }
  }
}
