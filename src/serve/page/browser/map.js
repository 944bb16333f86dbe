/** @typedef {import('../page-map.ts').PageMap} PageMap */
/** @typedef {import('../page-map.ts').MapNode} MapNode */

/** The limit of edges up to which all have labels. Beyond it, only edges of selected applications have them. */
const MOST_LABELS = 16

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'

/** Reads the colours of the style sheet, which supports light and dark. The browser computes a variable only where an element uses it. */
const colours = () => {
  const probe = document.createElement('span')
  document.body.append(probe)
  /** @param {string} name */
  const read = (name) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  return { read, end: () => probe.remove() }
}

const styleOf = () => {
  const { read: colour, end } = colours()
  const style = styleIn(colour)
  end()
  return style
}

/**
 * @param {(name: string) => string} colour
 * @returns {cytoscape.StylesheetJson}
 */
const styleIn = (colour) => [
  // edges lie between frames and applications
  { selector: '*', style: { 'z-index-compare': 'manual' } },
  {
    selector: 'node.app',
    style: {
      shape: 'round-rectangle',
      width: 'data(width)',
      height: 'data(height)',
      'background-color': colour('off-fill'),
      'border-color': colour('off-line'),
      'border-width': 1.5,
      label: 'data(text)',
      color: colour('text'),
      'font-family': FONT,
      'font-size': 12.5,
      'line-height': 1.3,
      'text-wrap': 'wrap',
      'text-max-width': '290px',
      'text-valign': 'center',
      'text-halign': 'center',
      'min-zoomed-font-size': 6,
      'z-index': 10,
    },
  },
  { selector: 'node.off', style: { 'border-style': 'dashed' } },
  { selector: 'node.untold', style: { 'border-style': 'dotted', color: colour('muted') } },
  { selector: 'node.mesh', style: { 'background-color': colour('mesh-fill'), 'border-color': colour('mesh-line') } },
  {
    selector: 'node.beacon',
    style: {
      'background-color': colour('beacon-fill'),
      'border-color': colour('beacon-line'),
      shape: 'cut-rectangle',
    },
  },
  { selector: 'node.open', style: { 'border-color': colour('open-line'), 'border-width': 2.5 } },
  { selector: 'node.attention', style: { 'border-color': colour('bad'), 'border-width': 2.5 } },
  {
    selector: 'node.frame',
    style: {
      shape: 'round-rectangle',
      'corner-radius': '14',
      width: 'data(width)',
      height: 'data(height)',
      'background-color': colour('frame'),
      'background-opacity': 1,
      'border-color': colour('line'),
      'border-width': borderOf,
      label: 'data(text)',
      color: colour('muted'),
      'font-family': FONT,
      'font-size': fontOf,
      'font-weight': 600,
      'text-valign': 'top',
      'text-halign': 'center',
      'text-margin-y': marginOf,
      'z-index': 1,
      events: 'no',
    },
  },
  { selector: 'node.group', style: { 'background-color': colour('group'), 'border-style': 'solid', 'z-index': 2 } },
  {
    selector: 'edge',
    style: {
      width: 1.6,
      'curve-style': 'bezier',
      'control-point-step-size': 34,
      'line-color': colour('edge'),
      'target-arrow-color': colour('edge'),
      'target-arrow-shape': 'triangle',
      'arrow-scale': 0.9,
      color: colour('text'),
      'font-family': FONT,
      'font-size': 11,
      'text-wrap': 'wrap',
      'text-background-color': colour('frame'),
      'text-background-opacity': 1,
      'text-background-padding': '3px',
      'min-zoomed-font-size': 6,
      'z-index': 5,
    },
  },
  { selector: 'edge.labelled, edge.near', style: { label: 'data(text)' } },
  { selector: 'edge.open', style: { 'line-color': colour('open-line'), 'target-arrow-color': colour('open-line') } },
  {
    selector: 'edge.none',
    style: {
      'line-style': 'dashed',
      'line-color': colour('muted'),
      'target-arrow-color': colour('muted'),
      'target-arrow-shape': 'tee',
    },
  },
  { selector: 'edge.telemetry', style: { 'line-style': 'dotted', width: 2 } },
  { selector: 'edge.near', style: { width: 2.6, 'z-index': 8 } },
  {
    selector: 'edge.lost',
    style: {
      'line-color': colour('bad'),
      'target-arrow-color': colour('bad'),
      'line-style': 'dashed',
      width: 4,
      color: colour('bad'),
      'z-index': 9,
    },
  },
  { selector: '.faded', style: { opacity: 0.28 } },
  {
    selector: 'node.chosen',
    style: { 'outline-color': colour('focus'), 'outline-width': 3, 'outline-offset': 2, 'outline-opacity': 1 },
  },
]

/**
 * Draws a map, and reports clicks.
 * @param {HTMLElement} container
 * @param {{ onNode: (id: string) => void, onEdge: (id: string) => void, onNothing: () => void }} told
 */
export const createGraph = (container, { onNode, onEdge, onNothing }) => {
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
  graph.on('tap', 'node.app', ({ target }) => onNode(target.id()))
  graph.on('tap', 'edge', ({ target }) => onEdge(target.id()))
  graph.on('tap', ({ target }) => {
    if (target === graph) onNothing()
  })
  graph.on('dragpan scrollzoom pinchzoom', () => {
    isMoved = true
  })
  /** Scales the titles of frames, so that they can be read when zoomed out. */
  const resize = () => {
    const font = Math.min(90, Math.max(13, 12 / graph.zoom()))
    graph.batch(() => {
      for (const frame of graph.nodes('.frame').toArray())
        frame.data(
          frame.hasClass('group')
            ? { font: 12, margin: 19, border: 1 }
            : { font, margin: font * -0.35, border: Math.max(1, 0.9 / graph.zoom()) },
        )
    })
  }
  graph.on('zoom', resize)
  const showAll = () => {
    isMoved = false
    graph.fit(undefined, 36)
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
    /** @param {PageMap} map @param {ReadonlySet<string>} conflicts */
    draw: ({ nodes, edges, frames }, conflicts) => {
      const elements = [
        ...frames.map(frameElement),
        ...nodes.map((node) => nodeElement(node, conflicts.has(node.id))),
        ...edges.map((edge) => ({
          data: { id: edge.id, source: edge.from, target: edge.to, text: edge.label },
          classes: [edge.access, edge.isTelemetry && 'telemetry', edges.length <= MOST_LABELS && 'labelled']
            .filter((name) => name !== false)
            .join(' '),
        })),
      ]
      graph.batch(() => {
        graph.elements().remove()
        graph.add(elements)
      })
      if (!isMoved) showAll()
      resize()
    },
    /**
     * Highlights the selected applications with their neighbours, the search results, and edges that a plan would lose.
     * @param {{ chosen: readonly string[], matching: ReadonlySet<string> | undefined, lost: readonly (readonly [string, string])[] }} shown
     */
    mark: ({ chosen, matching, lost }) => {
      graph.batch(() => {
        graph.elements().removeClass('chosen near faded lost')
        if (matching) fadeOthers(graph, matching)
        choose(graph, chosen)
        for (const [from, to] of lost)
          graph.getElementById(`${from} → ${to}`).removeClass('faded').addClass('lost near')
      })
    },
    /** @param {number} factor */
    zoom: (factor) => {
      isMoved = true
      const { width, height } = container.getBoundingClientRect()
      graph.zoom({ level: graph.zoom() * factor, renderedPosition: { x: width / 2, y: height / 2 } })
    },
    /** @param {string} id */
    show: (id) => {
      const node = graph.getElementById(id)
      if (node.empty()) return
      const { x1, x2, y1, y2 } = node.renderedBoundingBox()
      if (x1 > 0 && y1 > 0 && x2 < graph.width() && y2 < graph.height()) return
      graph.center(node)
    },
  }
}

/** @param {cytoscape.Core} graph @param {ReadonlySet<string>} matching */
const fadeOthers = (graph, matching) => {
  graph
    .nodes('.app')
    .filter((node) => !matching.has(node.id()))
    .addClass('faded')
  graph
    .edges()
    .filter((edge) => edge.connectedNodes('.faded').length > 0)
    .addClass('faded')
}

/** Shows one application with all its connections, or two with those between them. @param {cytoscape.Core} graph @param {readonly string[]} ids */
const choose = (graph, ids) => {
  const nodes = graph.nodes().filter((node) => ids.includes(node.id()))
  if (nodes.length === 0) return
  nodes.addClass('chosen')
  const near = nodes.length === 1 ? nodes.connectedEdges() : nodes.edgesWith(nodes)
  near.addClass('near')
  graph.elements('.app, edge').difference(nodes.union(near).union(near.connectedNodes())).addClass('faded')
}

/** @param {cytoscape.NodeSingular} node */
const fontOf = (node) => node.data('font')

/** @param {cytoscape.NodeSingular} node */
const borderOf = (node) => node.data('border')

/** @param {cytoscape.NodeSingular} node */
const marginOf = (node) => node.data('margin')

/** @param {import('../page-map.ts').Frame} frame */
const frameElement = ({ id, kind, x, y, width, height }) => ({
  data: {
    id: `${kind} ${id}`,
    text: kind === 'group' ? `cluster ${id.split('/')[1]}` : id,
    width,
    height,
    font: 13,
    margin: 0,
    border: 1,
  },
  position: { x: x + width / 2, y: y + height / 2 },
  classes: `frame ${kind}`,
})

/** @param {MapNode} node @param {boolean} isInConflict */
const nodeElement = ({ id, application, caption, kind, access, status, marks, x, y, width, height }, isInConflict) => {
  const isUntold = status === 'untold'
  const isBad =
    isInConflict || !['active', 'untold'].includes(status) || marks.includes('conflict') || marks.includes('waiting')
  const extra = isInConflict && !marks.includes('conflict') ? ' · conflict' : ''
  return {
    data: { id, text: `${application}\n${caption}${extra}`, width, height },
    position: { x, y },
    classes: ['app', kind, access === 'open' && 'open', isUntold && 'untold', isBad && 'attention']
      .filter((one) => one !== false)
      .join(' '),
  }
}
