import { byId, element } from './html.js'
import { closedId, counted, namespaceOf, passing } from './names.js'
import { rateText } from './traffic.js'

/** @typedef {import('../page-map.ts').PageMap} PageMap */
/** @typedef {import('../page-map.ts').MapNode} MapNode */
/** @typedef {import('../page-map.ts').MapEdge} MapEdge */

/** The rows of the table, by their ids, with what they were made of. @type {Map<string, { readonly text: string, readonly row: HTMLElement }>} */
let drawn = new Map()

/**
 * Lists the applications of open namespaces and those found, and a heading for each namespace if there are several. Unchanged rows stay, so that they keep
 * the focus.
 * @param {PageMap} map @param {ReadonlySet<string>} open @param {ReadonlySet<string> | undefined} found
 */
export const showRows = ({ nodes, edges }, open, found) => {
  const from = Map.groupBy(edges, (edge) => edge.from)
  const byNamespace = [...Map.groupBy(nodes, ({ namespace }) => namespace)]
  const openToAll = nodes.filter(({ access }) => access === 'open').map(({ id }) => id)
  const wanted = byNamespace.flatMap(([namespace, members]) => [
    ...(byNamespace.length > 1 ? [headingOf(namespace, members.length, open.has(namespace))] : []),
    ...members
      .filter(({ id }) => open.has(namespace) || found?.has(id))
      .map((node) => rowOf(node, from.get(node.id) ?? [], openToAll)),
  ])
  const before = [...drawn.values()].map(({ row }) => row)
  drawn = new Map(
    wanted.map(({ id, text, make }) => {
      const known = drawn.get(id)
      return [id, known?.text === text ? known : { text, row: make() }]
    }),
  )
  place(
    before,
    [...drawn.values()].map(({ row }) => row),
  )
}

/** Moves as few rows as possible. @param {readonly HTMLElement[]} before @param {readonly HTMLElement[]} after */
const place = (before, after) => {
  const kept = new Set(after)
  for (const row of before) if (!kept.has(row)) row.remove()
  const body = byId('rows')
  for (const [index, row] of after.entries()) {
    const there = body.children[index]
    if (there !== row) body.insertBefore(row, there ?? null)
  }
}

/** @param {string} namespace @param {number} count @param {boolean} isOpen */
const headingOf = (namespace, count, isOpen) => ({
  id: closedId(namespace),
  text: `${count} ${isOpen}`,
  make: () =>
    element(
      'tr',
      { class: 'namespace', 'data-namespace': namespace },
      element(
        'th',
        { colspan: '3', scope: 'rowgroup' },
        element(
          'button',
          { type: 'button', class: 'link', 'data-toggle': namespace, 'aria-expanded': String(isOpen) },
          namespace,
        ),
        ' ',
        element('span', { class: 'muted' }, counted(count)),
      ),
    ),
})

/** @param {MapNode} node @param {readonly MapEdge[]} edges @param {readonly string[]} openToAll */
const rowOf = (node, edges, openToAll) => {
  const known = new Set([node.id, ...edges.map(({ to }) => to)])
  const open = openToAll.filter((id) => !known.has(id))
  return {
    id: node.id,
    text: JSON.stringify([node, edges, open.slice(0, 4), open.length]),
    make: () =>
      element(
        'tr',
        { 'data-id': node.id },
        element(
          'th',
          { scope: 'row' },
          element(
            'button',
            { type: 'button', class: 'link', 'data-select': node.id, 'aria-pressed': 'false' },
            node.id,
          ),
        ),
        element(
          'td',
          {},
          node.caption,
          node.beacon !== undefined && element('div', { class: 'muted' }, `beacon ${node.beacon}`),
          node.waypoint !== undefined && element('div', { class: 'muted' }, node.waypoint),
          node.message === '' ? undefined : element('div', { class: 'muted' }, node.message),
        ),
        element('td', {}, ...edges.map(reach), openTo(open, edges.length)),
      ),
  }
}

/** @param {import('./traffic.js').SeenEdge} edge */
const reach = ({ from, to, access, label, isTelemetry, seen }) => {
  const what = passing({ access, label })
  const more = [what, access === 'open' && 'open to anybody', isTelemetry && 'telemetry', seen && rateText(seen)]
  const text = more.filter((one) => one !== false && one !== undefined && one !== '').join(', ')
  return element(
    'div',
    { class: `reach ${access}`, 'data-edge': `${from} → ${to}` },
    element('button', { type: 'button', class: 'link', 'data-pair': `${from} ${to}` }, to),
    ` ${text}`,
  )
}

/** Lists open applications, because an empty cell would mean that the client reaches nobody. @param {readonly string[]} open @param {number} edges */
const openTo = (open, edges) => {
  if (open.length > 0) {
    const shown = open.length > 4 ? [...open.slice(0, 3), `${open.length - 3} others`] : open
    return element('div', { class: 'reach open muted' }, `all that is open to anybody: ${shown.join(', ')}`)
  }
  return edges === 0 ? element('div', { class: 'muted' }, 'no known application') : undefined
}

/**
 * Marks the rows of selected applications, hides those that a search does not find, and marks access that would be lost.
 * @param {{ chosen: readonly string[], matching: ReadonlySet<string> | undefined, lost: ReadonlySet<string> }} shown
 */
export const markRows = ({ chosen, matching, lost }) => {
  const homes = matching && new Set([...matching].map(namespaceOf))
  for (const { row } of drawn.values()) {
    const { id, namespace } = row.dataset
    if (id === undefined) {
      row.hidden = homes !== undefined && !homes.has(namespace ?? '')
      continue
    }
    row.hidden = matching !== undefined && !matching.has(id)
    row.classList.toggle('chosen', chosen.includes(id))
    row.querySelector('[data-select]')?.setAttribute('aria-pressed', String(chosen.includes(id)))
  }
  for (const one of byId('rows').querySelectorAll('[data-edge]'))
    one.classList.toggle('lost', lost.has(/** @type {HTMLElement} */ (one).dataset.edge ?? ''))
}
