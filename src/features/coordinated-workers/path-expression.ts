/** The default limits of PCRE2: pcre2limits(3), and `--with-parens-nest-limit` in pcre2build(3). */
const MOST = { count: 65_535, depth: 250, codeUnits: 65_535 }

export const AN_EXPRESSION =
  'expected a regular expression of a path: ^ and a slash first, then letters, digits and - . _ ~ / \\ * + ? | ( ) [ ] { } $, without (? and [^'

const TOO_LARGE = `expected a regular expression that PCRE compiles: counts of at most ${MOST.count}, at most ${MOST.depth} groups within each other, and not too large with all that is repeated written out`

/** Returns the reason why PCRE would not compile `text`. nginx would then not load the file. */
export const expressionProblem = (text: string): string | undefined => {
  const { count, depth, codeUnits } = measure(text)
  return count > MOST.count || depth > MOST.depth || codeUnits > MOST.codeUnits ? TOO_LARGE : undefined
}

/** Accepts only regular expressions that JavaScript and PCRE read alike. */
export const isReadAlike = (text: string): boolean => {
  const isPlain = /^\^\/(?:[-\w.~/*+?|()[\]{}$,]|\\[dws./-])*$/.test(text)
  if (!isPlain || /\(\?|\(\*|\[\]|\[\^|\[:|\[\.|\[=|\{,/.test(text)) return false
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

/** A part of an expression: a class, the start of a group, the end of a group or a quantifier with its count, or a character. */
const PART = /\[(?:\\.|[^\]])*\]|\(|\)?\{(\d+)(?:,(\d*))?\}|\)|\\.|./g

/** The upper bound of PCRE's compiled size for each part, in code units. A class is a bitmap, and a group is copied for each of its repetitions. */
const UNITS = { class: 33, group: 8, character: 3 }

const measure = (text: string): { count: number; depth: number; codeUnits: number } => {
  const groups = [0]
  let [count, depth] = [0, 0]
  const add = (units: number) => groups.push((groups.pop() ?? 0) + units)
  for (const [part, least = '1', most = ''] of text.matchAll(PART)) {
    const times = Math.max(1, Number(least), Number(most))
    count = Math.max(count, times)
    if (part === '(') groups.push(0)
    else if (part.startsWith(')')) add(((groups.pop() ?? 0) + 2 * UNITS.group) * times)
    else add(part.length > 2 ? UNITS.class + UNITS.character : UNITS.character)
    depth = Math.max(depth, groups.length - 1)
  }
  return { count, depth, codeUnits: groups[0] ?? 0 }
}
