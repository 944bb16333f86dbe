/** The values of the chart, by name. */
type Values = Readonly<Record<string, unknown>>

const valueAt = (path: string, values: Values): unknown => {
  const found = path.split('.').reduce<unknown>((at, key) => (at as Values | undefined)?.[key], values)
  if (found === undefined) throw new Error(`.Values.${path} is no value`)
  return found
}

/** Go's templates take what is empty as false: https://pkg.go.dev/text/template#hdr-Actions */
const isTrue = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)

const holds = (condition: string, values: Values): boolean => {
  const [, negated] = /^not \((.*)\)$/.exec(condition) ?? []
  if (negated !== undefined) return !holds(negated, values)
  const [, broker] = /^eq \.Values\.broker "(.*)"$/.exec(condition) ?? []
  if (broker !== undefined) return values.broker === broker
  const [, path] = /^\.Values\.([\w.]+)$/.exec(condition) ?? []
  if (path === undefined) throw new Error(`{{ ${condition} }} is not what this renders`)
  return isTrue(valueAt(path, values))
}

/** Fills in what stands in a line. `item` is that of a range. */
const filled = (line: string, values: Values, namespace: string, item: unknown): string =>
  line.replaceAll(/\{\{ (.*?) \}\}/g, (_, expression: string) => {
    if (expression === '.Release.Namespace') return namespace
    if (expression === 'toJson .') return JSON.stringify(item)
    const [, json, path] = /^(toJson |int )?\.Values\.([\w.]+)$/.exec(expression) ?? []
    if (path === undefined) throw new Error(`{{ ${expression} }} is not what this renders`)
    return json === 'toJson ' ? JSON.stringify(valueAt(path, values)) : String(valueAt(path, values))
  })

type Node =
  | { readonly line: string }
  | { readonly condition: string; readonly on: readonly Node[]; readonly off: readonly Node[] }
  | { readonly range: string; readonly on: readonly Node[] }

const instructionIn = (line = ''): string | undefined => /^\{\{- (.*) \}\}$/.exec(line)?.[1]

/** Reads a block up to the instruction that ends it, and answers with what comes from there. */
const readBlock = (lines: readonly string[]): { nodes: readonly Node[]; left: readonly string[] } => {
  const nodes: Node[] = []
  for (let left = lines; ; ) {
    const [line, ...rest] = left
    const instruction = instructionIn(line)
    if (line === undefined || instruction === 'end' || instruction === 'else') return { nodes, left }
    const read = instruction === undefined ? { node: { line }, left: rest } : readInstruction(instruction, rest)
    nodes.push(read.node)
    left = read.left
  }
}

const readInstruction = (instruction: string, lines: readonly string[]): { node: Node; left: readonly string[] } => {
  const { nodes: on, left } = readBlock(lines)
  const [, range] = /^range \.Values\.(.*)$/.exec(instruction) ?? []
  if (range !== undefined) return { node: { range, on }, left: left.slice(1) }
  const [, condition] = /^if (.*)$/.exec(instruction) ?? []
  if (condition === undefined) throw new Error(`{{- ${instruction} }} is not what this renders`)
  const other = instructionIn(left[0]) === 'else' ? readBlock(left.slice(1)) : { nodes: [], left }
  return { node: { condition, on, off: other.nodes }, left: other.left.slice(1) }
}

/** Renders the little of Helm's language that the chart's templates are made of, and throws for all else. */
export const renderTemplate = (template: string, values: Values, namespace: string): string => {
  const { nodes, left } = readBlock(template.split('\n'))
  if (left.length > 0) throw new Error(`${left[0]} ends nothing:\n${template}`)
  const rendered = (all: readonly Node[], item?: unknown): string[] =>
    all.flatMap((node) => {
      if ('line' in node) return [filled(node.line, values, namespace, item)]
      if ('range' in node) return (valueAt(node.range, values) as unknown[]).flatMap((one) => rendered(node.on, one))
      return rendered(holds(node.condition, values) ? node.on : node.off, item)
    })
  return rendered(nodes).join('\n')
}
