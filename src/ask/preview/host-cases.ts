/**
 * Lists the spellings of a host pattern that `cased` patterns, which distinguish upper and lower case, may treat differently: as given, in the case of
 * these patterns, and in another case.
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

const withHead = (text: string, head: string): string =>
  text.toLowerCase().startsWith(head.toLowerCase()) ? `${head}${text.slice(head.length)}` : text

const withTail = (text: string, tail: string): string =>
  tail !== '' && text.toLowerCase().endsWith(tail.toLowerCase())
    ? `${text.slice(0, text.length - tail.length)}${tail}`
    : text
