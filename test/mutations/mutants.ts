import { parseAst } from 'vitest/node'

/** One change of a source, as expressions in its text: where the first stands, and what would stand there instead. */
export type Mutant = {
  readonly start: number
  readonly end: number
  /** What takes its place. */
  readonly after: string
  readonly line: number
  /** The change as a person reads it. */
  readonly change: string
}

type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [key: string]: unknown }

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

/** Types are no code; the only nodes of TypeScript that hold some are casts. */
const isCode = ({ type }: Node): boolean =>
  !type.startsWith('TS') || ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(type)

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
}

/** Methods, and the method that takes the place of each; an empty one takes the whole call away. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['filter', ''],
  ['toSorted', ''],
  ['toReversed', ''],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
  ['min', 'max'],
  ['max', 'min'],
])

type Text = (node: Node) => string
type Rule = (node: Node, text: Text, source: string) => readonly string[]

const operators: Rule = ({ operator, left, right, start, end }, _, source) => {
  if (!isNode(left) || !isNode(right)) return []
  const at = source.indexOf(String(operator), left.end)
  const [before, after] = [source.slice(start, at), source.slice(at + String(operator).length, end)]
  return (OPERATORS[String(operator)] ?? []).map((other) =>
    operator === '??' ? `(${before}) ${other} (${after})` : `${before}${other}${after}`,
  )
}

const methods: Rule = ({ callee, start, end }, text, source) => {
  if (!isNode(callee) || callee.optional === true || !isNode(callee.property)) return []
  const other = METHODS.get(text(callee.property))
  if (other === undefined) return []
  const called = source.slice(start, callee.property.start)
  return [other === '' ? called.replace(/\.$/, '') : `${called}${other}${source.slice(callee.property.end, end)}`]
}

const branches: Rule = ({ consequent, alternate }, text) => [consequent, alternate].filter(isNode).map(text)

/** How a node of each type is changed; each text stands for the whole node. */
const RULES: Readonly<Record<string, Rule>> = {
  BinaryExpression: operators,
  LogicalExpression: operators,
  ConditionalExpression: branches,
  CallExpression: methods,
  UnaryExpression: ({ operator, argument }, text) => (operator === '!' && isNode(argument) ? [text(argument)] : []),
  Literal: ({ value }) => (typeof value === 'boolean' ? [String(!value)] : []),
  ArrayExpression: ({ elements }) => (Array.isArray(elements) && elements.length > 0 ? ['[]'] : []),
}

const short = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 100)

/** Where an expression may not be put in parentheses: within `a?.b.c`, and at the start of a statement, which has no semicolon. */
type Place = { readonly isChained: boolean; readonly statement: number }

const placeOf = (child: Node, parent: Node, { isChained, statement }: Place): Place => ({
  isChained: parent.type === 'ChainExpression' || (isChained && [parent.object, parent.callee].includes(child)),
  statement: parent.type === 'ExpressionStatement' ? parent.start : statement,
})

/** All mutants of a source in TypeScript: each of its conditions, operators, flags, lists and calls that has another that fits. */
export const mutantsOf = (source: string): readonly Mutant[] => {
  const text: Text = ({ start, end }) => source.slice(start, end)
  const changed = (node: Node, after: string): Mutant => ({
    ...{ start: node.start, end: node.end, after },
    line: source.slice(0, node.start).split('\n').length,
    change: `${short(text(node))}  →  ${short(after)}`,
  })
  const mutantsIn = (node: Node, place: Place): readonly Mutant[] => {
    const isFixed = place.isChained || node.start === place.statement
    const own = isFixed ? [] : (RULES[node.type]?.(node, text, source) ?? [])
    const test = node.type === 'IfStatement' && isNode(node.test) ? [node.test] : []
    const inner = Object.values(node).flat().filter(isNode).filter(isCode)
    return [
      ...own.map((after) => changed(node, after)),
      ...test.flatMap((one) => ['true', 'false'].map((after) => changed(one, after))),
      ...inner.flatMap((child) => mutantsIn(child, placeOf(child, node, place))),
    ]
  }
  const program: unknown = parseAst(source, { lang: 'ts' })
  return isNode(program) ? mutantsIn(program, { isChained: false, statement: -1 }) : []
}

/** The source with all of the given mutants in it, each behind a question: `mutation(id)` says if it is the one that is tried. */
export const withMutants = (source: string, mutants: readonly (Mutant & { readonly id: number })[]): string => {
  const widest = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end)
  const render = (start: number, end: number, inner: typeof widest): string => {
    const [first, ...rest] = inner
    if (first === undefined) return source.slice(start, end)
    const within = rest.filter((one) => one.end <= first.end)
    const later = rest.filter((one) => one.end > first.end)
    const original = render(first.start, first.end, within)
    const asked = `(globalThis.mutation(${first.id}) ? (${first.after}\n) : (${original}))`
    return `${source.slice(start, first.start)}${asked}${render(first.end, end, later)}`
  }
  return render(0, source.length, widest)
}
