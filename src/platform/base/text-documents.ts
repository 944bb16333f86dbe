import { DEEPEST, isTooDeep } from './depth.ts'
import { composeYaml, InvalidYaml, OF_FILES } from './yaml.ts'

/** A document of a text in YAML or JSON. Either its value is known, or the problem why it has none. */
export type TextDocument = {
  /** The file that it is from, if the text says so. */
  readonly file?: string | undefined
  /** The document with its comments. */
  readonly text: string
  /** The line of its content or of its problem, in its file or in the whole text. It counts from 1. */
  readonly line: number
} & ({ readonly value: unknown } | { readonly problem: string })

/** The comment that names the file of all that follows. Lines count from there. */
const FILE = /^# meshstep: file (.+)$/m

/** Returns what stands before the text of a file where files are joined: a comment from which the documents have the name of their file. */
export const headingOf = (path: string): string => `---\n# meshstep: file ${path.replaceAll('\n', ' ')}\n`

/**
 * Reads the documents of a text as kubectl does. A document that cannot be read stops no other. Documents without content are left out. It yields
 * regularly, so that other work can run.
 */
export function* readDocuments(text: string): Generator<undefined, TextDocument[]> {
  const documents: TextDocument[] = []
  let file: string | undefined
  let line = 1
  for (const part of partsOf(text)) {
    const named = FILE.exec(part)
    if (named !== null) {
      file = named[1]
      line = -linesIn(part.slice(0, named.index))
    }
    for (const document of yield* readPart(part, line)) documents.push({ ...document, file })
    line += linesIn(part)
  }
  return documents
}

/** As readDocuments, without a pause. */
export const readDocumentsAtOnce = (text: string): TextDocument[] => {
  const reading = readDocuments(text)
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
  }
}

/** Splits at the marker of documents, which can be nothing else at the begin of a line. What only leads to a document stays with it. */
const partsOf = (text: string): string[] => {
  const parts: string[] = []
  let begin = 0
  for (const { index } of text.matchAll(/(?<![^\r\n])---(?![^ \t\r\n])/g)) {
    if (text.slice(begin, index).split('\n').every(isLeading)) continue
    parts.push(text.slice(begin, index))
    begin = index
  }
  return [...parts, text.slice(begin)]
}

/** Tells if a line before a document's marker is empty, a comment or a directive. */
const isLeading = (line: string): boolean => /^(\s*|\s*#.*|%.*)$/.test(line)

const linesIn = (text: string): number => text.split('\n').length - 1

function* readPart(part: string, firstLine: number): Generator<undefined, TextDocument[]> {
  try {
    const documents = yield* composeYaml(part, { ...OF_FILES, firstLine })
    let end = 0
    return documents.flatMap((document) => {
      const text = part.slice(end, document.range[2])
      end = document.range[2]
      const read = resolved(document)
      if ('value' in read && (read.value ?? null) === null) return []
      const begin = document.contents?.range?.[0] ?? document.range[0]
      return [{ text, line: firstLine + linesIn(part.slice(0, begin)), ...read }]
    })
  } catch (error) {
    if (!(error instanceof InvalidYaml)) throw error
    return [{ text: part, line: error.line, problem: error.message }]
  }
}

/** Resolves aliases up to a limit. Nested aliases can expand to gigabytes. */
const resolved = (document: { toJS(options: { maxAliasCount: number }): unknown }) => {
  try {
    const value = document.toJS({ maxAliasCount: 100 })
    return isTooDeep(value) ? { problem: `expected at most ${DEEPEST} levels` } : { value }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}
