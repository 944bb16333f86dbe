import { parse as parseYaml } from 'yaml'

export type Structured = { value: unknown } | { unreadable: string }

/** YAML takes far longer to read than JSON of the same length. */
const LONGEST_YAML = 16 * 1024

/** The value that a text of JSON or, up to 16 KiB, of YAML says. */
export const readText = (text: string): Structured => {
  const json = jsonIn(text)
  return json === undefined ? readYaml(text, 'core') : { value: json }
}

/** The one plain value that a text says, quoted or not, as text: `8080` is `"8080"`, `true` is `"true"`. */
export const readScalar = (text: string): { value: string } | { unreadable: string } => {
  const read = readYaml(text, 'failsafe')
  if ('unreadable' in read) return read
  return typeof read.value === 'string' ? { value: read.value } : { unreadable: 'expected a single value' }
}

/** What the text is in JSON, undefined when it is none. */
export const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // it may be YAML, or plain text
  }
}

/** The schema `failsafe` knows no numbers, booleans and nulls. */
const readYaml = (text: string, schema: 'core' | 'failsafe'): Structured => {
  if (text.length > LONGEST_YAML)
    return { unreadable: `expected JSON, or YAML of at most ${LONGEST_YAML} characters, got ${text.length}` }
  try {
    return { value: parseYaml(text, { schema, maxAliasCount: 0, uniqueKeys: false, logLevel: 'error' }) }
  } catch (error) {
    const [problem = ''] = (error as Error).message.split('\n')
    return { unreadable: `neither JSON nor YAML: ${problem.slice(0, 160)}` }
  }
}
