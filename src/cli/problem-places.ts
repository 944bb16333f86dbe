import { type Document, isMap, isNode, isScalar, isSeq, type Node, type Scalar } from 'yaml'
import { PLAIN } from '../platform/base/structured-text.ts'
import { composeAtOnce, InvalidYaml } from '../platform/base/yaml.ts'
import { Failure } from './failure.ts'
import { composed, type Documents } from './input.ts'
import { ErrorAnswer } from './server.ts'

/** A node of a document, and the way to say where an offset of its text is. */
type Spot = { readonly node: unknown; readonly text: string; placeOf(offset: number): string }

/**
 * Waits for the answer about documents. If the functions refuse them, it rejects with Failure that says for each problem where it is in the files:
 * `file:line:column`. They name a place by its path, below `root` if the document is only a part of what was sent.
 */
export const located = async <T>(asking: Promise<T>, documents: Documents, root?: string): Promise<T> => {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof ErrorAnswer) || error.status !== 400) throw error
    throw new Failure(locate(error.message, documents, root), 1, { cause: error })
  }
}

const NOT_PLANNED = ' is not planned: '

/** Puts the place before the problem of each object that is not planned. */
export const locateIncomplete = (incomplete: readonly string[], documents: Documents): string[] =>
  incomplete.map((one) => {
    const [object = '', ...problem] = one.split(NOT_PLANNED)
    const told = `${object}: ${problem.join(NOT_PLANNED)}`
    const found = problem.length === 0 ? told : locate(told, documents)
    return found === told ? one : `${object}${NOT_PLANNED}${found}`
  })

/** Puts the place before each problem. A message about nothing in the documents stays as it is. */
export const locate = (message: string, documents: Documents, root?: string): string => {
  const all = composed(documents)
  const found = root === undefined ? namedIn(message, all) : rootIn(message, all, root)
  if (found === undefined) return message
  const { text, placeOf } = documents
  return found.problems
    .split(/; (?=[-\w.[\]/]+: )/)
    .map((problem) => describe(problem.replace(found.root, ''), { node: found.node, text, placeOf }))
    .join('\n')
}

/** The node that problems are about, and the part of their paths that leads to it. */
type Found = { readonly node: unknown; readonly root: string; readonly problems: string }

const rootIn = (message: string, [document]: readonly Document.Parsed[], root: string): Found | undefined =>
  document && message.startsWith(root) ? { node: document.contents, root, problems: message } : undefined

/** Finds the object that a message names. */
const namedIn = (message: string, documents: readonly Document.Parsed[]): Found | undefined => {
  const [, kind, name = ''] = /^([A-Z]\w*) (\S+?):? /.exec(message) ?? []
  const listed = documents.flatMap(({ contents }) => objectsIn(contents)).find((one) => isNamed(one, kind, name))
  return listed === undefined ? undefined : { node: listed.node, root: `${kind} ${name}: `, problems: message }
}

type Listed = { readonly node: unknown; readonly kind: unknown }

/** Lists the objects of a document. A typed list says the kind of its items once. */
const objectsIn = (node: unknown, known?: unknown): Listed[] => {
  const kind = (isMap(node) ? node.get('kind') : undefined) ?? known
  const items = isMap(node) ? node.get('items') : undefined
  return isSeq(items)
    ? items.items.flatMap((one) => objectsIn(one, String(kind).replace(/List$/, '')))
    : [{ node, kind }]
}

const isNamed = ({ node, kind: listed }: Listed, kind: string | undefined, name: string): boolean => {
  if (!isMap(node) || listed !== kind) return false
  const [own, namespace = ''] = name.split('/').toReversed()
  return node.getIn(['metadata', 'name']) === own && [undefined, namespace].includes(namespaceOf(node))
}

const namespaceOf = (node: { getIn(path: readonly string[]): unknown }): string | undefined => {
  const namespace = node.getIn(['metadata', 'namespace'])
  return typeof namespace === 'string' ? namespace : undefined
}

/** Describes one problem, behind the place of the node that its path leads to. */
const describe = (problem: string, spot: Spot): string => {
  const { node, placeOf, rest } = follow(spot, /^[.[:]/.test(problem) ? problem : `.${problem}`)
  const told = problem.replace(/^(\.|: )/, '').replace(/ at line \d+, column \d+$/, '')
  return `${placeOf(offsetOf(unknownKeyIn(node, rest) ?? node))}: ${told}`
}

/** Follows a path at the beginning of a text, as far as there is a node, also into YAML in a text. */
const follow = (spot: Spot, path: string): Spot & { readonly rest: string } => {
  const { node } = spot
  if (isMap<Scalar>(node)) {
    const pairs = node.items.filter(({ key }) => isStep(String(key.value), path))
    const [pair] = pairs.toSorted((one, other) => String(other.key.value).length - String(one.key.value).length)
    if (pair) return follow({ ...spot, node: pair.value ?? pair.key }, path.slice(String(pair.key.value).length + 1))
  }
  const [step = '', index] = /^[.[](\d+)\]?/.exec(path) ?? []
  if (isSeq(node) && index !== undefined && isNode(node.items[Number(index)]))
    return follow({ ...spot, node: node.items[Number(index)] }, path.slice(step.length))
  const inner = isScalar(node) ? innerOf(spot, node) : undefined
  return inner ? follow(inner, path) : { ...spot, rest: path }
}

/** Tells if a path begins with this key. Keys may have dots themselves. */
const isStep = (key: string, path: string): boolean =>
  path.startsWith(`.${key}`) && /^[.[:]/.test(path.slice(key.length + 1))

/** Opens the YAML in a block of text (`|`), whose lines are those of the file. If it is invalid, its problem is the node. */
const innerOf = ({ text, placeOf }: Spot, node: Scalar): Spot | undefined => {
  if (node.type !== 'BLOCK_LITERAL') return undefined
  const inner = String(node.value)
  const start = text.indexOf('\n', node.range?.[0]) + 1
  const placeIn = (offset: number): string => {
    const before = inner.slice(0, offset).split('\n')
    const line = inner.split('\n')[before.length - 1] ?? ''
    const above = text.slice(start).split('\n').slice(0, before.length)
    // the end of the line in the file is the end of the line in the block, which has no indent
    return placeOf(start + above.join('\n').length - line.length + (before.at(-1) ?? '').length)
  }
  try {
    return { node: composeAtOnce(inner, PLAIN)[0]?.contents, text: inner, placeOf: placeIn }
  } catch (error) {
    if (!(error instanceof InvalidYaml)) throw error
    return { node: { range: [error.offset] }, text: inner, placeOf: placeIn }
  }
}

/** Finds the key that the functions do not know. */
const unknownKeyIn = (node: unknown, problem: string): unknown => {
  const [, key] = /^: Unrecognized keys?: ("(?:[^"\\]|\\.)*")/.exec(problem) ?? []
  return key === undefined || !isMap<Scalar>(node)
    ? undefined
    : node.items.find((pair) => pair.key.value === JSON.parse(key))?.key
}

const offsetOf = (node: unknown): number => (node as Pick<Node, 'range'> | null | undefined)?.range?.[0] ?? 0
