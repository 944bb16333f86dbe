import type { Directive } from '../../../../src/features/coordinated-workers/nginx/directives.ts'

/** A word in quotes, a word without, or the end of words. There are no comments. */
const TOKEN = /\s*(?:"((?:\\[\s\S]|[^"\\])*)"(?=[\s;{])|'([^']*)'(?=[\s;{])|([^\s;{}"'#][^\s;{]*)|([;{}]))/gy

/** The directives of a file, as nginx reads it (ngx_conf_read_token in its source). */
export const parse = (text: string): Directive[] => {
  const tokens = [...text.matchAll(TOKEN)]
  if (tokens.map(([whole]) => whole).join('') !== text.trimEnd()) throw new Error(`Not a file of nginx: ${text}`)
  return blockOf(tokens)
}

/** Takes what is up to the end of the block from `tokens`. */
const blockOf = (tokens: RegExpExecArray[]): Directive[] => {
  const directives: Directive[] = []
  const words: string[] = []
  for (let token = tokens.shift(); token !== undefined && token[4] !== '}'; token = tokens.shift()) {
    const [, quoted, single, plain, mark] = token
    if (mark === undefined) words.push(plain ?? single ?? unescaped(quoted ?? ''))
    else directives.push(directiveOf(words.splice(0), mark === '{' ? blockOf(tokens) : undefined))
  }
  return directives
}

const directiveOf = ([name = '', ...parameters]: string[], block: Directive[] | undefined): Directive =>
  block === undefined ? [name, ...parameters] : [name, ...parameters, block]

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n' }

const unescaped = (quoted: string): string =>
  quoted.replaceAll(/\\(["'\\trn])/g, (_, character: string) => ESCAPES[character] ?? character)

/** All directives, those of blocks too. */
export const flattened = (directives: readonly Directive[]): Directive[] =>
  directives.flatMap((directive) => [
    directive,
    ...flattened(directive.flatMap((part) => (typeof part === 'string' ? [] : part))),
  ])

/** Each directive of a file without its block, its words as they are read: `location = /`. */
export const linesOf = (text: string): string[] =>
  flattened(parse(text)).map((words) => words.filter((word) => typeof word === 'string').join(' '))
