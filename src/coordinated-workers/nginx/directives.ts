/** A directive of nginx: its name, its parameters and, when it has one, its block. */
export type Directive = readonly [name: string, ...rest: readonly (string | readonly Directive[])[]]

/** The text of an nginx file, in which every parameter is read as the string that it is here. */
export const render = (directives: readonly Directive[], indent = ''): string =>
  directives.map((directive) => rendered(directive, indent)).join('')

const rendered = (directive: Directive, indent: string): string => {
  const words = directive.filter((part) => typeof part === 'string').map(quoted)
  const block = directive.find((part) => typeof part !== 'string')
  const line = `${indent}${words.join(' ')}`
  return block === undefined ? `${line};\n` : `${line} {\n${render(block, `${indent}    `)}${indent}}\n`
}

/** What nginx reads as one parameter without quotes. */
const PLAIN = /^[-\w$./:=~^*()![\]]+$/

const quoted = (word: string): string => (PLAIN.test(word) ? word : `"${word.replaceAll(/[\\"]/g, '\\$&')}"`)

/** nginx has no escape for a dollar sign: a variable holds one. */
const DOLLAR = 'dollar'

/** What has to be in `http` for `literal`. */
export const LITERALS: Directive = ['geo', `$${DOLLAR}`, [['default', '$']]]

/** `text` in a parameter in which nginx looks for variables: none of its dollar signs begins one. */
export const literal = (text: string): string => text.replaceAll('$', `\${${DOLLAR}}`)

/** The bytes that a parameter takes in the file. */
export const lengthOf = (parameter: string): number => Buffer.byteLength(quoted(parameter))
