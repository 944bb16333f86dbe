import { closedId, namespaceOf } from './names.js'

/**
 * @typedef {{ readonly chosen: readonly string[], readonly matching: ReadonlySet<string> | undefined, readonly lost: ReadonlySet<string> }} Marked
 *   The selected applications, the search results, and the edges that a plan would lose.
 */

/** The limit of edges near a selection up to which they have labels. */
const MOST_TOLD = 8
/** The limit of found applications up to which they have names at any zoom. */
const MOST_NAMED = 40

/**
 * Lists the classes of each marked element. Shows one application with all its connections, or two with those between them.
 * @param {cytoscape.Core} graph @param {Marked} marked
 * @returns {ReadonlyMap<string, string>}
 */
export const marksOf = (graph, { chosen, matching, lost }) => {
  const nodes = graph.nodes().filter((node) => chosen.includes(node.id()))
  const near = nodes.length === 1 ? nodes.connectedEdges() : nodes.edgesWith(nodes)
  const kept = nodes.union(near).union(near.connectedNodes())
  const lines = near.not('.member')
  const told = lines.length <= MOST_TOLD ? lines : graph.collection()
  const foundIn = matching && new Set([...matching].map((id) => closedId(namespaceOf(id))))
  /** @param {cytoscape.SingularElementArgument} one @returns {boolean} */
  const isFound = (one) => {
    if (matching === undefined) return true
    if (one.isEdge()) return isFound(one.source()) && isFound(one.target())
    return matching.has(one.id()) || foundIn?.has(one.id()) === true
  }
  const isNamed = matching !== undefined && matching.size <= MOST_NAMED
  /** @param {cytoscape.SingularElementArgument} one */
  const edgeMarks = (one) => {
    if (lost.has(one.id())) return ['lost', 'told']
    return [near.has(one) && 'near', told.has(one) && 'told', isFaded(one) && 'faded']
  }
  /** @param {cytoscape.SingularElementArgument} one */
  const nodeMarks = (one) => [
    nodes.has(one) ? 'chosen' : kept.has(one) && 'near',
    isNamed && isFound(one) && 'found',
    isFaded(one) && 'faded',
  ]
  /** @param {cytoscape.SingularElementArgument} one */
  const isFaded = (one) => !isFound(one) || (nodes.nonempty() && !kept.has(one))
  return new Map(
    graph
      .elements('.app, .closed, edge')
      .toArray()
      .map((one) => [
        one.id(),
        (one.isEdge() ? edgeMarks(one) : nodeMarks(one)).filter((name) => name !== false).join(' '),
      ]),
  )
}
