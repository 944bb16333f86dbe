import { nameBox, nodeBox } from './layout.js'
import { closedId, counted, namespaceOf } from './names.js'
import { sumOf } from './traffic.js'

/**
 * @typedef {import('../page-map.ts').PageMap} PageMap
 * @typedef {import('../page-map.ts').MapNode} MapNode
 * @typedef {import('../page-map.ts').MapEdge} MapEdge
 * @typedef {import('./layout.js').Item & { readonly title: string, readonly caption: string, readonly node?: MapNode, readonly isBad: boolean,
 *   readonly isNameOnly?: boolean }} Shown
 *   An application, or a closed namespace, which has no node.
 * @typedef {{ readonly id: string, readonly from: string, readonly to: string, readonly label: string, readonly access: MapEdge['access'],
 *   readonly isTelemetry: boolean, readonly seen?: import('./traffic.js').Seen | undefined, readonly members: readonly MapEdge[] }} ShownEdge An edge, or all edges between the same two shown items.
 * @typedef {{ readonly from: string, readonly to: string }} Membership From a beacon to an application, or between the namespaces that have them.
 * @typedef {{ readonly items: readonly Shown[], readonly edges: readonly ShownEdge[], readonly memberships: readonly Membership[],
 *   readonly closed: ReadonlySet<string> }} View
 */

/** The limit of applications up to which all namespaces are open from the start. */
const MOST_OPEN = 80

/** The limit of applications up to which boxes have two lines. */
const MOST_DESCRIBED = 30

/** The limit of namespaces with something found up to which these open. */
const MOST_FOUND = 3

/** @param {MapNode} node @param {ReadonlySet<string>} conflicts */
const isBad = ({ id, status, marks }, conflicts) =>
  conflicts.has(id) ||
  !['active', 'removed', 'untold', 'seen'].includes(status) ||
  marks.includes('conflict') ||
  marks.includes('waiting')

/**
 * Tells which namespaces are open: those that somebody opened, those of what is selected or found, and all on a small map that nobody closed.
 * @param {PageMap} map
 * @param {{ readonly opened: ReadonlySet<string>, readonly closed: ReadonlySet<string>, readonly chosen: readonly string[], readonly found?: ReadonlySet<string> | undefined }} state
 */
export const openIn = ({ nodes }, { opened, closed, chosen, found }) => {
  const homes = new Set([...(found ?? [])].map(namespaceOf))
  const held = [...chosen.map(namespaceOf), ...(homes.size <= MOST_FOUND ? homes : [])]
  const namespaces = [...new Set(nodes.map(({ namespace }) => namespace))]
  const isSmall = nodes.length <= MOST_OPEN || namespaces.length === 1
  return new Set([
    ...held,
    ...namespaces.filter((namespace) => opened.has(namespace) || (isSmall && !closed.has(namespace))),
  ])
}

/**
 * Shows each application of an open namespace, and one item for each closed one.
 * @param {PageMap} map @param {ReadonlySet<string>} open @param {ReadonlySet<string>} conflicts @param {ReadonlySet<string>} [found]
 * @returns {View}
 */
export const viewOf = ({ nodes, edges }, open, conflicts, found) => {
  const byNamespace = [...Map.groupBy(nodes, ({ namespace }) => namespace)]
  const isNameOnly = nodes.filter(({ namespace }) => open.has(namespace)).length > MOST_DESCRIBED
  const items = byNamespace.flatMap(([namespace, members]) =>
    open.has(namespace)
      ? members.map((node) => applicationOf(node, conflicts, isNameOnly))
      : [namespaceItem(namespace, members, conflicts, found)],
  )
  const places = new Map(nodes.map(({ id, namespace }) => [id, open.has(namespace) ? id : closedId(namespace)]))
  const pairs = Map.groupBy(edges, ({ from, to }) => `${places.get(from)} → ${places.get(to)}`)
  return {
    items,
    edges: [...pairs].flatMap(([id, members]) => edgeOf(id, members, places)),
    memberships: membershipsOf(nodes, places),
    closed: new Set(byNamespace.flatMap(([namespace]) => (open.has(namespace) ? [] : [closedId(namespace)]))),
  }
}

/** @param {MapNode} node @param {ReadonlySet<string>} conflicts @param {boolean} isNameOnly @returns {Shown} */
const applicationOf = (node, conflicts, isNameOnly) => {
  const { id, namespace, application: title, group, marks } = node
  const caption = `${node.caption}${conflicts.has(id) && !marks.includes('conflict') ? ' · conflict' : ''}`
  const box = isNameOnly ? nameBox(title) : nodeBox(title, caption)
  return { id, namespace, group, title, caption, node, isNameOnly, isBad: isBad(node, conflicts), ...box }
}

/**
 * @param {string} namespace @param {readonly MapNode[]} members @param {ReadonlySet<string>} conflicts @param {ReadonlySet<string> | undefined} found
 * @returns {Shown}
 */
const namespaceItem = (namespace, members, conflicts, found) => {
  const bad = members.filter((node) => isBad(node, conflicts)).length
  const matching = found === undefined ? 0 : members.filter(({ id }) => found.has(id)).length
  const more = [bad > 0 && `${bad} to look at`, matching > 0 && `${matching} found`].filter((text) => text !== false)
  const caption = [counted(members.length), ...more].join(' · ')
  // there is room for what a search adds
  const text = Math.max(namespace.length, caption.length + (matching > 0 ? 0 : ROOM))
  const width = Math.ceil((text * BOLD_CHARACTER + 24) / 40) * 40
  return { id: closedId(namespace), namespace, title: namespace, caption, isBad: bad > 0, width, height: 58 }
}

/** @param {readonly MapNode[]} nodes @param {ReadonlyMap<string, string>} places @returns {Membership[]} */
const membershipsOf = (nodes, places) => {
  const all = nodes.flatMap(({ id, beacon = '' }) => {
    const [from, to] = [places.get(beacon), places.get(id)]
    return from === undefined || to === undefined || from === to ? [] : [{ from, to }]
  })
  return [...new Map(all.map((one) => [`${one.from} ${one.to}`, one])).values()]
}

const BOLD_CHARACTER = 7.4
const ROOM = 10

/** @param {string} id @param {readonly MapEdge[]} members @param {ReadonlyMap<string, string>} places @returns {ShownEdge[]} */
const edgeOf = (id, members, places) => {
  const [first] = members
  const [from, to] = [places.get(first?.from ?? ''), places.get(first?.to ?? '')]
  // inside a closed namespace nothing is drawn
  if (first === undefined || from === undefined || to === undefined || from === to) return []
  if (members.length === 1) return [{ ...first, id, from, to, members }]
  const accesses = new Set(members.map(({ access }) => access))
  const access = accesses.has('open') ? 'open' : accesses.has('allowed') ? 'allowed' : 'none'
  const isTelemetry = members.every((one) => one.isTelemetry)
  return [{ id, from, to, access, isTelemetry, label: `${members.length} connections`, seen: sumOf(members), members }]
}
