export type Token = {
  readonly type: 'end' | 'word' | '(' | ')' | ',' | '!' | '=' | '==' | '!=' | '<' | '>'
  readonly text: string
}

const symbols = ['==', '!=', '(', ')', ',', '!', '=', '<', '>'] as const
const word = /^[^\s(),!=<>]+/

/** Splits a label selector into its tokens; the last one is always `end`. */
export const tokens = (selector: string): Token[] => {
  const found: Token[] = []
  let rest = selector.trimStart()
  while (rest !== '') {
    const symbol = symbols.find((each) => rest.startsWith(each))
    const text = symbol ?? word.exec(rest)?.[0] ?? rest
    found.push({ type: symbol ?? 'word', text })
    rest = rest.slice(text.length).trimStart()
  }
  found.push({ type: 'end', text: '' })
  return found
}
