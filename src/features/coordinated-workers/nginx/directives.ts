/** A directive of nginx: its name, its parameters, and its block, if any. */
export type Directive = readonly [name: string, ...rest: readonly (string | readonly Directive[])[]]

/** Renders directives so that nginx reads each parameter as the given string. */
export const render = (directives: readonly Directive[], indent = ''): string =>
  directives.map((directive) => rendered(directive, indent)).join('')

const rendered = (directive: Directive, indent: string): string => {
  const words = directive.filter((part) => typeof part === 'string').map(quoted)
  const block = directive.find((part) => typeof part !== 'string')
  const line = `${indent}${words.join(' ')}`
  return block === undefined ? `${line};\n` : `${line} {\n${render(block, `${indent}    `)}${indent}}\n`
}

/** The characters of parameters that need no quotes. */
const PLAIN = /^[-\w$./:=~^*()![\]]+$/

const quoted = (word: string): string => (PLAIN.test(word) ? word : `"${word.replaceAll(/[\\"]/g, '\\$&')}"`)

/** The variable with a dollar sign, because nginx has no escape for it. */
const DOLLAR = 'dollar'

/** Declares the variable for `literal` in `http`. */
export const LITERALS: Directive = ['geo', `$${DOLLAR}`, [['default', '$']]]

/** Escapes `text` in a parameter with variables, so that no dollar sign begins a variable. */
export const literal = (text: string): string => text.replaceAll('$', `\${${DOLLAR}}`)

/** Returns the bytes of a parameter in the file. */
export const lengthOf = (parameter: string): number => Buffer.byteLength(quoted(parameter))
