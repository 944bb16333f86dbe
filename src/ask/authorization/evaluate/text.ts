/** Istio's string match: exact, `prefix*`, `*suffix`, and `*` for any text that is not empty. */
export const matchesText = (pattern: string, text: string): boolean => {
  if (pattern === '*') return text !== ''
  if (pattern.startsWith('*')) return text.endsWith(pattern.slice(1))
  if (pattern.endsWith('*')) return text.startsWith(pattern.slice(0, -1))
  return pattern === text
}

/** Compares without regard to case. */
export const matchesHost = (pattern: string, host: string): boolean =>
  matchesText(pattern.toLowerCase(), host.toLowerCase())

/** A match with `*` for any text, anywhere in the pattern. */
export const matchesGlob = (pattern: string, text: string): boolean => {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === text
  if (!text.startsWith(first)) return false
  let end = first.length
  for (const piece of rest) {
    const start = text.indexOf(piece, end)
    if (start === -1) return false
    end = start + piece.length
  }
  return text.length - last.length >= end && text.endsWith(last)
}
