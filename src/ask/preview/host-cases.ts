import { matchesText } from '../authorization/evaluate/text.ts'

/**
 * The ways to write what a pattern of hosts matches that patterns which tell upper and lower case apart, `cased`, may tell apart: as it is, as they are
 * written, and otherwise.
 */
export const hostCases = (pattern: string, cased: readonly string[]): string[] => {
  if (cased.length === 0) return [pattern]
  const plain = [pattern, pattern.toUpperCase(), pattern.toLowerCase(), alternating(pattern)]
  const heads = ['', ...cased.flatMap((one) => (one.endsWith('*') ? [one.slice(0, -1)] : []))]
  const tails = ['', ...cased.flatMap((one) => (one.startsWith('*') ? [one.slice(1)] : []))]
  return [
    ...new Set(
      plain.flatMap((text) => heads.flatMap((head) => tails.map((tail) => withTail(withHead(text, head), tail)))),
    ),
  ]
}

const alternating = (text: string): string =>
  [...text].map((letter, index) => (index % 2 === 0 ? letter.toLowerCase() : letter.toUpperCase())).join('')

/** Patterns match values that differ in case alone. */
export const matchesHost = (pattern: string, value: string): boolean =>
  matchesText(pattern.toLowerCase(), value.toLowerCase())

const withHead = (text: string, head: string): string =>
  text.toLowerCase().startsWith(head.toLowerCase()) ? `${head}${text.slice(head.length)}` : text

const withTail = (text: string, tail: string): string =>
  tail !== '' && text.toLowerCase().endsWith(tail.toLowerCase())
    ? `${text.slice(0, text.length - tail.length)}${tail}`
    : text
