import { labelOf } from '../kinds/json.ts'
import { badRequest } from '../kinds/status.ts'
import { keyProblems, problems } from '../validate/formats.ts'
import { type Token, tokens } from './selector-lexer.ts'

type Labels = Readonly<Record<string, unknown>>
export type Selector = (labels: Labels) => boolean

const operators = ['in', 'notin', '=', '==', '!=', 'gt', 'lt']
const names = new Map([
  ['>', 'gt'],
  ['<', 'lt'],
])

/** Reads tokens one by one; the context decides if `in` and `notin` are words or operators. */
class Reader {
  #position = 0
  readonly #tokens: readonly Token[]
  constructor(selector: string) {
    this.#tokens = tokens(selector)
  }
  peek(): Token {
    return this.#tokens[this.#position] ?? { type: 'end', text: '' }
  }
  next(): Token {
    const token = this.peek()
    this.#position += 1
    return token
  }
}

const unexpected = (token: Token, expected: string): Error => new Error(`found '${token.text}', expected: ${expected}`)

const checkedKey = (key: string): string => {
  const wrong = keyProblems(key)
  if (wrong.length > 0) throw new Error(`<nil>: Invalid value: ${JSON.stringify(key)}: ${wrong.join('; ')}`)
  return key
}

const checkedValues = (key: string, values: readonly string[]): readonly string[] => {
  for (const [index, value] of values.entries()) {
    const wrong = problems('labelValue', value)
    if (wrong.length > 0) {
      throw new Error(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join('; ')}`)
    }
  }
  return values
}

const listedValues = (reader: Reader): string[] => {
  const open = reader.next()
  if (open.type !== '(') throw new Error(`found '${open.text}' expected: '('`)
  const values: string[] = []
  for (;;) {
    const { value, separator } = listedValue(reader)
    values.push(value)
    if (separator.type === ')') return values
    if (separator.type !== ',') throw unexpected(separator, "',' or ')'")
  }
}

/** One value, which may be empty, and its separator. */
const listedValue = (reader: Reader): { value: string; separator: Token } => {
  const token = reader.next()
  if (token.type === 'word') return { value: token.text, separator: reader.next() }
  if (token.type === ',' || token.type === ')') return { value: '', separator: token }
  throw unexpected(token, "',', ')' or identifier")
}

const exactValue = (reader: Reader): string => {
  const token = reader.peek()
  if (token.type === 'end' || token.type === ',') return ''
  reader.next()
  if (token.type !== 'word') throw unexpected(token, 'identifier')
  return token.text
}

const compared = (key: string, value: string, holds: (label: number, bound: number) => boolean): Selector => {
  const bound = Number(value)
  if (!/^-?\d+$/.test(value))
    throw new Error(`values[0]: Invalid value: "${value}": for 'Gt', 'Lt' operators, the value must be an integer`)
  return (labels) => labelOf(labels, key) !== undefined && holds(Number(labelOf(labels, key)), bound)
}

const requirement = (reader: Reader): Selector => {
  const first = reader.next()
  const name = first.type === '!' ? reader.next() : first
  if (name.type !== 'word') throw unexpected(name, 'identifier')
  const key = checkedKey(name.text)
  const ahead = reader.peek().type
  if (first.type === '!') return (labels) => labelOf(labels, key) === undefined
  if (ahead === 'end' || ahead === ',') return (labels) => labelOf(labels, key) !== undefined
  return byOperator(key, reader.next(), reader)
}

const byOperator = (key: string, token: Token, reader: Reader): Selector => {
  const operator = names.get(token.text) ?? token.text
  if (!operators.includes(operator)) throw unexpected(token, operators.join(', '))
  const listed = operator === 'in' || operator === 'notin'
  const values = checkedValues(key, listed ? listedValues(reader) : [exactValue(reader)])
  if (operator === 'gt') return compared(key, values[0] ?? '', (label, bound) => label > bound)
  if (operator === 'lt') return compared(key, values[0] ?? '', (label, bound) => label < bound)
  const wanted = operator === 'in' || operator === '=' || operator === '=='
  return (labels) => values.includes(String(labelOf(labels, key) ?? '\0')) === wanted
}

const startsRequirement = ({ type }: Token): boolean => type === 'word' || type === '!'

const explained = (reader: Reader): Selector => {
  try {
    return requirement(reader)
  } catch (cause) {
    throw new Error(`unable to parse requirement: ${(cause as Error).message}`, { cause })
  }
}

const requirements = (reader: Reader): Selector[] => {
  if (reader.peek().type === 'end') return []
  if (!startsRequirement(reader.peek())) throw unexpected(reader.peek(), "!, identifier, or 'end of string'")
  const found = [explained(reader)]
  for (let separator = reader.next(); separator.type !== 'end'; separator = reader.next()) {
    if (separator.type !== ',') throw unexpected(separator, "',' or 'end of string'")
    if (!startsRequirement(reader.peek())) throw unexpected(reader.peek(), "identifier after ','")
    found.push(explained(reader))
  }
  return found
}

/**
 * Parses a label selector as the API server does (`a=b,c in (d,e),!f`); an invalid one is a 400 in its words. See
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api
 */
export const labelSelector = (text: string): Selector => {
  try {
    const all = requirements(new Reader(text))
    return (labels) => all.every((holds) => holds(labels))
  } catch (cause) {
    throw badRequest((cause as Error).message)
  }
}
