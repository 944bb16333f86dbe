import { matchesText } from './text.ts'

/**
 * Whether the waypoint takes `path` for `pattern`: a string match, or a template with `{*}` (one segment, or what is left of one) and
 * `{**}` (any number of segments). As Envoy does, the path is first normalized and loses its query: `/a/../b?c` is `/b`.
 */
export const matchesPath = (pattern: string, path: string): boolean => {
  const normalized = normalize(path)
  return /\{\*\*?\}/.test(pattern) ? matchesTemplate(pattern, normalized) : matchesText(pattern, normalized)
}

/** istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/#MeshConfig-ProxyPathNormalization: BASE, the default. */
const normalize = (path: string): string =>
  path.startsWith('/') ? (URL.parse(`http://host${path}`)?.pathname ?? path) : path

const LITERAL = /[-a-zA-Z0-9._~%!$&'()+,;:@=]/

/** Which ends of `path` are reached after each piece of the template: no backtracking, so no path can make it slow. */
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

/** The ends that are at least `minimum` matching characters after one that was reached. */
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
