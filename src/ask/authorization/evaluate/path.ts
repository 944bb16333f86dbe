import { matchesText } from './text.ts'

/**
 * Matches a path against a string or a template. `{*}` is one segment, or the rest of one, and `{**}` any number of segments. Envoy
 * first normalizes the path and drops its query: `/a/../b?c` is `/b`.
 */
export const matchesPath = (pattern: string, path: string): boolean => {
  const normalized = normalize(path)
  return /\{\*\*?\}/.test(pattern) ? matchesTemplate(pattern, normalized) : matchesText(pattern, normalized)
}

/** istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/#MeshConfig-ProxyPathNormalization: BASE, the default. */
const normalize = (path: string): string =>
  path.startsWith('/') ? (URL.parse(`http://host${path}`)?.pathname ?? path) : path

const LITERAL = /[-a-zA-Z0-9._~%!$&'()+,;:@=]/

/** Tracks the positions reached after each piece of the template. Without backtracking, no path makes the match slow. */
const matchesTemplate = (template: string, path: string): boolean => {
  const pieces = template.split(/(\{\*\*?\})/).filter((piece) => piece !== '')
  let reached = new Set([0])
  for (const piece of pieces) reached = after(piece, path, reached)
  return reached.has(path.length)
}

const after = (piece: string, path: string, reached: ReadonlySet<number>): Set<number> => {
  if (piece === '{*}') return extended(path, reached, 1, (character) => LITERAL.test(character))
  if (piece === '{**}') return extended(path, reached, 0, (character) => character === '/' || LITERAL.test(character))
  return new Set([...reached].filter((end) => path.startsWith(piece, end)).map((end) => end + piece.length))
}

/** Returns the positions that are at least `minimum` matching characters after a reached one. */
const extended = (
  path: string,
  reached: ReadonlySet<number>,
  minimum: 0 | 1,
  matches: (character: string) => boolean,
): Set<number> => {
  const ends = new Set<number>()
  let running = false
  for (let end = 0; end <= path.length; end++) {
    running = end > 0 && matches(path.charAt(end - 1)) && (running || reached.has(end - 1))
    if (running || (minimum === 0 && reached.has(end))) ends.add(end)
  }
  return ends
}
