import {
  Composer,
  type CST,
  type Document,
  isNode,
  isScalar,
  Lexer,
  LineCounter,
  Parser,
  type Scalar,
  visit,
  YAMLParseError,
} from 'yaml'
import { DEEPEST } from './depth.ts'

/** Invalid YAML: the problem at an offset in the text, and its line, which counts from 1. It does not quote the text, which may be secret. */
export class InvalidYaml extends Error {
  override readonly name = 'InvalidYaml'
  readonly problem: string
  readonly offset: number
  readonly line: number

  constructor(cause: YAMLParseError, { line, column }: { line: number; column: number }) {
    const problem = withoutText(cause)
    super(`${problem} at line ${line}, column ${column}`, { cause })
    this.problem = problem
    this.offset = cause.pos[0]
    this.line = line
  }
}

/** The document around a collection, and a scalar in it. Both are on the parser's stack too. */
const AROUND = 2

/** The limit of aliases times characters in a document. Each alias is searched in the whole document, and may expand to most of it. */
const MOST_ALIASED = 50_000_000

/** The number of lexemes between two yields. */
const AT_ONCE = 512

export type Options = {
  readonly schema?: 'core' | 'failsafe'
  readonly uniqueKeys?: boolean
  /** The number of the first line, in messages. */
  readonly firstLine?: number
  /** Merge keys (`<<`) insert the named mapping, as in YAML 1.1. Otherwise they are ordinary keys. */
  readonly merge?: boolean
  /** Tags, anchors, merge keys, directives, and keys that are not text are errors. */
  readonly isPlain?: boolean
}

/**
 * Composes the documents of a text. It yields regularly, so that other work can run. Throws InvalidYaml at the first problem. It also throws for too many
 * levels or aliases, because the library composes collections recursively and slowly.
 */
export function* composeYaml(
  text: string,
  { schema = 'core', uniqueKeys = false, merge = false, isPlain = false, firstLine = 1 }: Options = {},
): Generator<undefined, Document.Parsed[]> {
  const lines = new LineCounter()
  const composer = throwingFirst(new Composer({ schema, merge, uniqueKeys: false, logLevel: 'error' }))
  const documents: Document.Parsed[] = []
  try {
    for (const token of tokensIn(text, lines, isPlain)) {
      if (token === undefined) yield
      else documents.push(...composer.next(token))
    }
    documents.push(...composer.end())
    documents.forEach(checkOf({ uniqueKeys, isPlain }))
    return documents
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error
    const { line, col } = lines.linePos(error.pos[0])
    throw new InvalidYaml(error, { line: firstLine - 1 + line, column: col })
  }
}

/** The form of the documents in files: those that kubectl applies, and those of a command. */
export const OF_FILES: Options = { uniqueKeys: true, merge: true }

/** Composes the documents of a text at once. Throws InvalidYaml. */
export const composeAtOnce = (text: string, options: Options): Document.Parsed[] => {
  const composing = composeYaml(text, options)
  for (;;) {
    const { done, value } = composing.next()
    if (done) return value
  }
}

/** Yields the tokens of a text, and regularly undefined. */
function* tokensIn(text: string, lines: LineCounter, isPlain: boolean): Generator<CST.Token | undefined> {
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  let [lexemes, begun, aliases] = [0, 0, 0]
  function* checked(tokens: Iterable<CST.Token>) {
    for (const token of tokens) {
      if (token.type === 'error') throw problemAt(token.offset, 'UNEXPECTED_TOKEN', token.message)
      if (isPlain && token.type === 'directive') throw notPlain(token.offset, 'directives')
      if (token.type === 'document') [begun, aliases] = [parser.offset, 0]
      yield token
    }
  }
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme.startsWith('*')) aliases += 1
    yield* checked(parser.next(lexeme))
    if (parser.stack.length > DEEPEST + AROUND)
      throw problemAt(parser.offset, 'RESOURCE_EXHAUSTION', `expected at most ${DEEPEST} levels`)
    if (aliases * (parser.offset - begun) > MOST_ALIASED)
      throw problemAt(parser.offset, 'RESOURCE_EXHAUSTION', 'expected fewer aliases')
    lexemes += 1
    if (lexemes % AT_ONCE === 0) yield
  }
  yield* checked(parser.end())
}

const problemAt = (offset: number, code: YAMLParseError['code'], message: string): YAMLParseError =>
  new YAMLParseError([offset, offset], code, message)

type Place = number | readonly [number, number, number?] | { readonly offset: number }

/** Makes the composer throw its first problem. Otherwise it would go on, and collect a problem for each remaining character. */
const throwingFirst = (composer: Composer): Composer => {
  let first: YAMLParseError | undefined
  return Object.assign(composer, {
    onError: (place: Place, code: YAMLParseError['code'], message: string, isWarning?: boolean) => {
      if (isWarning === true) return
      // each surrounding collection catches the exception, and reports it as its own problem
      first ??= problemAt(offsetOf(place), code, message)
      throw first
    },
  })
}

const offsetOf = (place: Place): number => {
  if (typeof place === 'number') return place
  return 'offset' in place ? place.offset : place[0]
}

/** Returns the message of a problem without the quoted text. */
export const withoutText = ({ message }: Error): string => {
  const [line = ''] = message.split('\n')
  const [, what = line] = /^(.*?)(?:: .*)?:?$/.exec(line) ?? []
  return what.replace(/!\S+/g, '!…').slice(0, 120)
}

/** Throws for a duplicate key in a mapping. The library would compare each key with all earlier ones. */
const checkKeys = (document: Document.Parsed): void =>
  visit(document, {
    Map: (_, { items }) => {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        const value = isScalar(key) ? key.value : key
        if (keys.has(value))
          throw problemAt((isNode(key) && key.range?.[0]) || 0, 'DUPLICATE_KEY', 'Map keys must be unique')
        keys.add(value)
      }
    },
  })

const checkOf =
  ({ uniqueKeys, isPlain }: Options) =>
  (document: Document.Parsed): void => {
    if (isPlain) checkPlain(document)
    if (uniqueKeys) checkKeys(document)
  }

const notPlain = (offset: number, what: string): YAMLParseError =>
  problemAt(offset, 'BAD_DIRECTIVE', `expected plain YAML, without ${what}`)

/** Throws for constructs that programs or people may misread. */
const checkPlain = (document: Document.Parsed): void =>
  visit(document, {
    Collection: (_, node) => checkProperties(node),
    Scalar: (_, node) => checkProperties(node),
    Pair: (_, { key }) => {
      if (isScalar(key)) checkProperties(key)
      const isText = isScalar(key) && typeof key.value === 'string'
      const offset = (isNode(key) && key.range?.[0]) || 0
      if (!isText) throw notPlain(offset, 'keys that are not text, unless they are quoted')
      if (key.value === '<<' && key.type === 'PLAIN') throw notPlain(offset, 'merge keys')
    },
  })

const checkProperties = ({ tag, anchor, range }: Pick<Scalar, 'tag' | 'anchor' | 'range'>): void => {
  if (anchor !== undefined) throw notPlain(range?.[0] ?? 0, 'anchors')
  if (tag !== undefined) throw notPlain(range?.[0] ?? 0, 'tags')
}
