import { labelOf } from '../kinds/json.ts'
import { badRequest } from '../kinds/status.ts'
import { keyProblems, problems } from '../validate/formats.ts'

type Labels = Readonly<Record<string, unknown>>
export type Selector = (labels: Labels) => boolean

const operators = ['in', 'notin', '=', '==', '!=', 'gt', 'lt']
const names = new Map([
  ['>', 'gt'],
  ['<', 'lt'],
])

/** The tokens of a selector, read one by one. The end is an empty one. */
type Reader = { readonly peek: () => string; readonly next: () => string }

const readerOf = (selector: string): Reader => {
  const tokens = selector.match(/[=!]=|[(),!=<>]|[^\s(),!=<>]+/g) ?? []
  let position = 0
  return { peek: () => tokens[position] ?? '', next: () => tokens[position++] ?? '' }
}

const isWord = (token: string): boolean => /^[^(),!=<>]/.test(token)

const unexpected = (token: string, expected: string): Error => new Error(`found '${token}', expected: ${expected}`)

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

/** Reads the values in brackets, each of which may be empty. */
const listedValues = (reader: Reader): string[] => {
  const open = reader.next()
  if (open !== '(') throw new Error(`found '${open}' expected: '('`)
  const values: string[] = []
  for (let separator = ','; separator !== ')'; ) {
    const token = reader.next()
    if (!isWord(token) && token !== ',' && token !== ')') throw unexpected(token, "',', ')' or identifier")
    values.push(isWord(token) ? token : '')
    separator = isWord(token) ? reader.next() : token
    if (separator !== ',' && separator !== ')') throw unexpected(separator, "',' or ')'")
  }
  return values
}

const exactValue = (reader: Reader): string => {
  const token = reader.peek()
  if (token === '' || token === ',') return ''
  if (!isWord(token)) throw unexpected(token, 'identifier')
  return reader.next()
}

const compared = (key: string, value: string, holds: (label: number, bound: number) => boolean): Selector => {
  const bound = Number(value)
  if (!/^-?\d+$/.test(value))
    throw new Error(`values[0]: Invalid value: "${value}": for 'Gt', 'Lt' operators, the value must be an integer`)
  return (labels) => labelOf(labels, key) !== undefined && holds(Number(labelOf(labels, key)), bound)
}

const requirement = (reader: Reader): Selector => {
  const first = reader.next()
  const name = first === '!' ? reader.next() : first
  if (!isWord(name)) throw unexpected(name, 'identifier')
  const key = checkedKey(name)
  if (first === '!') return (labels) => labelOf(labels, key) === undefined
  if (['', ','].includes(reader.peek())) return (labels) => labelOf(labels, key) !== undefined
  return byOperator(key, reader.next(), reader)
}

const byOperator = (key: string, token: string, reader: Reader): Selector => {
  const operator = names.get(token) ?? token
  if (!operators.includes(operator)) throw unexpected(token, operators.join(', '))
  const listed = operator === 'in' || operator === 'notin'
  const values = checkedValues(key, listed ? listedValues(reader) : [exactValue(reader)])
  if (operator === 'gt') return compared(key, values[0] ?? '', (label, bound) => label > bound)
  if (operator === 'lt') return compared(key, values[0] ?? '', (label, bound) => label < bound)
  const wanted = operator === 'in' || operator === '=' || operator === '=='
  return (labels) => values.includes(String(labelOf(labels, key) ?? '\0')) === wanted
}

const startsRequirement = (token: string): boolean => isWord(token) || token === '!'

const explained = (reader: Reader): Selector => {
  try {
    return requirement(reader)
  } catch (cause) {
    throw new Error(`unable to parse requirement: ${(cause as Error).message}`, { cause })
  }
}

const requirements = (reader: Reader): Selector[] => {
  if (reader.peek() === '') return []
  if (!startsRequirement(reader.peek())) throw unexpected(reader.peek(), "!, identifier, or 'end of string'")
  const found = [explained(reader)]
  for (let separator = reader.next(); separator !== ''; separator = reader.next()) {
    if (separator !== ',') throw unexpected(separator, "',' or 'end of string'")
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
    const all = requirements(readerOf(text))
    return (labels) => all.every((holds) => holds(labels))
  } catch (cause) {
    throw badRequest((cause as Error).message)
  }
}
