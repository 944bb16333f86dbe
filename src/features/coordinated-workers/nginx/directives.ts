/** A directive of nginx: its name, parameters and, optionally, its block. */
export type Directive = readonly [name: string, ...rest: readonly (string | readonly Directive[])[]]

/** Renders directives so that nginx reads every parameter as the string it is here. */
export const render = (directives: readonly Directive[], indent = ''): string =>
  directives.map((directive) => rendered(directive, indent)).join('')

const rendered = (directive: Directive, indent: string): string => {
  const words = directive.filter((part) => typeof part === 'string').map(quoted)
  const block = directive.find((part) => typeof part !== 'string')
  const line = `${indent}${words.join(' ')}`
  return block === undefined ? `${line};\n` : `${line} {\n${render(block, `${indent}    `)}${indent}}\n`
}

/** Characters of a parameter that needs no quotes. */
const PLAIN = /^[-\w$./:=~^*()![\]]+$/

const quoted = (word: string): string => (PLAIN.test(word) ? word : `"${word.replaceAll(/[\\"]/g, '\\$&')}"`)

/** nginx has no escape for a dollar sign: a variable holds one. */
const DOLLAR = 'dollar'

/** Declares in `http` the variable that `literal` needs. */
export const LITERALS: Directive = ['geo', `$${DOLLAR}`, [['default', '$']]]

/** Escapes `text` in a parameter with variables: none of its dollar signs begins one. */
export const literal = (text: string): string => text.replaceAll('$', `\${${DOLLAR}}`)

/** The bytes of a parameter in the file. */
export const lengthOf = (parameter: string): number => Buffer.byteLength(quoted(parameter))
