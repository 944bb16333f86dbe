import { labelOf, SCALED } from './labels.js'
import { marksOf } from './marks.js'
import { styleOf } from './style.js'
import { rateText } from './traffic.js'

/** @typedef {import('./namespaces.js').View} View */
/** @typedef {import('./namespaces.js').Shown} Shown */
/** @typedef {import('./namespaces.js').ShownEdge} ShownEdge */
/** @typedef {import('./layout.js').Layout} Layout */
/** @typedef {{ readonly data: Record<string, unknown> & { id: string }, readonly position?: { x: number, y: number }, readonly classes: string }} Element */

/** The limit of edges up to which all have labels. Beyond it, only edges of selected applications have them. */
export const MOST_LABELS = 16
/** With more edges, those that are not near a selection are faint. */
const MOST_STRONG = 60

/** With more lines from beacons, only those near a selection are drawn. */
const MOST_MEMBERSHIPS = 16

/** The zoom from which names and captions can be read. */
const READABLE = 0.62

/**
 * Draws a map, and reports clicks.
 * @param {HTMLElement} container
 * @param {{ onNode: (id: string) => void, onEdge: (edge: ShownEdge) => void, onNamespace: (namespace: string) => void, onNothing: () => void }} told
 */
export const createGraph = (container, { onNode, onEdge, onNamespace, onNothing }) => {
  const graph = cytoscape({
    container,
    style: styleOf(),
    layout: { name: 'preset' },
    minZoom: 0.03,
    maxZoom: 3,
    boxSelectionEnabled: false,
    autoungrabify: true,
    autounselectify: true,
  })
  let isMoved = false
  /** @type {ReadonlyMap<string, ShownEdge>} */
  let edges = new Map()
  graph.on('tap', 'node.app', ({ target }) => onNode(target.id()))
  graph.on('tap', 'node.closed, node.title', ({ target }) => onNamespace(target.data('namespace')))
  graph.on('tap', 'edge', ({ target }) => {
    const edge = edges.get(target.id())
    if (edge) onEdge(edge)
  })
  graph.on('tap', ({ target }) => {
    if (target === graph) onNothing()
  })
  graph.on('mouseover', 'node.app, node.closed', ({ target }) => write(target.addClass('hovered')))
  graph.on('mouseout', 'node.app, node.closed', ({ target }) => write(target.removeClass('hovered')))
  graph.on('dragpan scrollzoom pinchzoom', () => {
    isMoved = true
  })
  /** Scales texts, so that they can be read when zoomed out. @param {cytoscape.Collection} [elements] */
  const write = (elements = graph.elements(SCALED)) => {
    const zoom = graph.zoom()
    graph.batch(() => {
      for (const one of elements.toArray()) {
        const { text, font, ground } = labelOf(one, zoom)
        if (one.data('text') !== text || one.data('font') !== font || one.data('ground') !== ground)
          one.data({ text, font, ground })
      }
    })
  }
  graph.on('zoom', () => write())
  const showAll = () => {
    isMoved = false
    graph.fit(undefined, 28)
    if (graph.zoom() > 1.25) graph.zoom(1.25).center()
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => graph.style(styleOf()))
  new ResizeObserver(() => {
    graph.resize()
    if (!isMoved) showAll()
  }).observe(container)

  return {
    graph,
    showAll,
    /** @param {View} view @param {Layout} layout */
    draw: (view, layout) => {
      edges = new Map(view.edges.map((edge) => [edge.id, edge]))
      const isFaint = view.edges.length > MOST_STRONG
      const elements = [
        ...layout.frames.flatMap(frameElements),
        ...view.items.map((item) => itemElement(item, layout.places.get(item.id))),
        ...view.memberships.map((one) => membershipElement(one, view.memberships.length > MOST_MEMBERSHIPS)),
        ...view.edges.map((edge) => edgeElement(edge, view.edges.length <= MOST_LABELS, isFaint)),
      ]
      const isSame = sync(graph, elements)
      if (!isSame && !isMoved) showAll()
      if (!isSame) write()
    },
    /**
     * Highlights the selected applications with their neighbours, the search results, and edges that a plan would lose.
     * @param {import('./marks.js').Marked} shown
     */
    mark: (shown) => {
      const marks = marksOf(graph, shown)
      graph.batch(() => {
        for (const one of graph.elements().toArray()) {
          const wanted = marks.get(one.id()) ?? ''
          const before = one.scratch('marks') ?? ''
          if (wanted === before) continue
          one.removeClass(before).addClass(wanted).scratch('marks', wanted)
        }
      })
      write()
    },
    /** @param {number} factor */
    zoom: (factor) => {
      isMoved = true
      const { width, height } = container.getBoundingClientRect()
      graph.zoom({ level: graph.zoom() * factor, renderedPosition: { x: width / 2, y: height / 2 } })
    },
    /** Brings items with their neighbours into the middle, unless they can be read where they are. @param {readonly string[]} ids */
    show: (ids) => {
      const items = graph.nodes().filter((node) => ids.includes(node.id()))
      if (items.empty()) return
      const lines = items.connectedEdges().not('.member')
      const near = items.length === 1 ? items.union(lines.connectedNodes()) : items
      const { x1, x2, y1, y2 } = near.renderedBoundingBox()
      const isInside = x1 > 0 && y1 > 0 && x2 < graph.width() && y2 < graph.height()
      if (isInside && graph.zoom() >= READABLE) return
      isMoved = true
      graph.fit(near, 48)
      if (graph.zoom() > 1) graph.zoom(1).center(near)
    },
    /** Shows one namespace as large as possible. @param {string} namespace */
    showNamespace: (namespace) => {
      const frame = graph.nodes('.namespace').filter((node) => node.data('namespace') === namespace)
      if (frame.empty()) return showAll()
      isMoved = true
      graph.fit(frame, 36)
      if (graph.zoom() > 1.25) graph.zoom(1.25).center(frame)
    },
  }
}

/**
 * Changes the elements of a graph into others. Unchanged ones stay as they are. Returns true if all did.
 * @param {cytoscape.Core} graph @param {readonly Element[]} elements
 */
const sync = (graph, elements) => {
  const wanted = new Map(elements.map((one) => [one.data.id, { ...one, text: JSON.stringify(one) }]))
  const gone = graph.elements().filter((one) => !wanted.has(one.id()))
  /** @type {Element[]} */
  const added = []
  let isSame = gone.empty()
  graph.batch(() => {
    gone.remove()
    for (const [id, { text, ...element }] of wanted) {
      const known = graph.getElementById(id)
      if (known.nonempty() && known.scratch('element') === text) continue
      isSame = false
      if (known.empty()) added.push(element)
      else change(known, element)
    }
    graph.add(added.map((element) => ({ ...element, data: { text: '', font: 12, ground: 0, ...element.data } })))
    for (const { data } of added) graph.getElementById(data.id).scratch('element', wanted.get(data.id)?.text)
  })
  return isSame

  /** @param {cytoscape.CollectionReturnValue} known @param {Element} element */
  function change(known, { data, position, classes }) {
    const { id, source: _, target: _t, ...rest } = data
    known.data(rest)
    known.classes(`${classes} ${known.scratch('marks') ?? ''}`)
    if (position) known.position(position)
    known.scratch('element', wanted.get(id)?.text)
  }
}

/** @param {import('./layout.js').Frame} frame @returns {Element[]} */
const frameElements = ({ id, kind, x, y, width, height }) => {
  const name = kind === 'group' ? `cluster ${id.split('/')[1]}` : id
  const title = { id: `title ${id}`, name, namespace: id, isGroup: kind === 'group' }
  return [
    {
      data: { id: `frame ${id}`, namespace: id, width, height },
      position: { x: x + width / 2, y: y + height / 2 },
      classes: `frame ${kind}`,
    },
    kind === 'group'
      ? { data: title, position: { x: x + 10, y: y + 14 }, classes: 'heading' }
      : { data: title, position: { x: x + 6, y }, classes: 'title' },
  ]
}

/** @param {Shown} item @param {{ x: number, y: number } | undefined} position @returns {Element} */
const itemElement = (
  { id, namespace, title, caption, node, isNameOnly, isBad, width, height },
  position = { x: 0, y: 0 },
) => ({
  data: { id, namespace, title, caption, isNameOnly, width, height },
  position,
  classes: node
    ? ['app', node.kind, node.access === 'open' && 'open', node.status === 'untold' && 'untold', isBad && 'attention']
        .filter((one) => one !== false)
        .join(' ')
    : `closed${isBad ? ' attention' : ''}`,
})

/** @param {ShownEdge} edge @param {boolean} isLabelled @param {boolean} isFaint @returns {Element} */
const edgeElement = ({ id, from, to, label, access, isTelemetry, seen, members }, isLabelled, isFaint) => ({
  data: {
    ...{ id, source: from, target: to },
    label: seen ? [label, rateText(seen)].filter((text) => text !== '').join('\n') : label,
    wide: seen ? widthOf(seen) : Math.min(4, 1.6 + 0.5 * Math.log2(members.length)),
  },
  classes: [access, isTelemetry && 'telemetry', ...seenAs(seen), isLabelled && 'labelled', isFaint && 'faint']
    .filter((name) => name !== false)
    .join(' '),
})

/** @param {import('./namespaces.js').Membership} membership @param {boolean} isFaint @returns {Element} */
const membershipElement = ({ from, to }, isFaint) => ({
  data: { id: `member ${from} ${to}`, source: from, target: to, label: '', wide: 1.2 },
  classes: isFaint ? 'member faint' : 'member',
})

/** Wider by two pixels for each tenfold rate. @param {import('./traffic.js').Seen} seen */
const widthOf = ({ requests, seconds }) => Math.min(9, 1.2 + 2 * Math.log10(1 + (requests * 60) / Math.max(1, seconds)))

/** @param {import('./traffic.js').Seen | undefined} seen */
const seenAs = (seen) => [
  seen !== undefined && seen.refused > 0 && 'refusing',
  seen?.class === 'used without a relation' && 'unrelated',
  seen?.requests === 0 && 'silent',
]
