const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'

/** Reads the colours of the style sheet, which supports light and dark. The browser computes a variable only where an element uses it. */
export const styleOf = () => {
  const probe = document.createElement('span')
  document.body.append(probe)
  /** @param {string} name */
  const read = (name) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const style = styleIn(read)
  probe.remove()
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
    selector: 'node.app, node.closed',
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
      'font-size': 'data(font)',
      'line-height': 1.3,
      'text-wrap': 'wrap',
      'text-max-width': '400px',
      'text-valign': 'center',
      'text-halign': 'center',
      'text-background-color': colour('frame'),
      'text-background-opacity': groundOf,
      'text-background-padding': '2px',
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
  {
    selector: 'node.closed',
    style: {
      'background-color': colour('group'),
      'border-color': colour('off-line'),
      'border-width': 4,
      'border-style': 'double',
      'font-weight': 600,
    },
  },
  { selector: 'node.open', style: { 'border-color': colour('open-line'), 'border-width': 2.5 } },
  { selector: 'node.attention', style: { 'border-color': colour('bad') } },
  { selector: 'node.app.attention', style: { 'border-width': 2.5 } },
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
      'border-width': 1.5,
      'z-index': 1,
      events: 'no',
    },
  },
  { selector: 'node.group', style: { 'background-color': colour('group'), 'border-style': 'solid', 'z-index': 2 } },
  {
    selector: 'node.title, node.heading',
    style: {
      width: 1,
      height: 1,
      'background-opacity': 0,
      label: 'data(text)',
      color: colour('muted'),
      'font-family': FONT,
      'font-size': 'data(font)',
      'font-weight': 600,
      'text-halign': 'right',
      'text-valign': 'center',
      'z-index': 3,
      events: 'no',
    },
  },
  {
    selector: 'node.title',
    style: {
      'text-valign': 'top',
      'text-events': 'yes',
      events: 'yes',
      'text-background-color': colour('page'),
      'text-background-opacity': groundOf,
    },
  },
  {
    selector: 'edge',
    style: {
      width: 'data(wide)',
      'curve-style': 'bezier',
      'control-point-step-size': 26,
      // also between boxes that nearly touch
      'edge-distances': 'node-position',
      'line-color': colour('edge'),
      'target-arrow-color': colour('edge'),
      'target-arrow-shape': 'triangle',
      'arrow-scale': 0.9,
      color: colour('text'),
      'font-family': FONT,
      'text-wrap': 'wrap',
      'text-background-color': colour('frame'),
      'text-background-opacity': 1,
      'text-background-padding': '3px',
      'z-index': 5,
    },
  },
  { selector: 'edge.faint', style: { opacity: 0.8, width: 1.2, 'arrow-scale': 0.7 } },
  {
    selector: 'edge.member',
    style: {
      'line-color': colour('beacon-line'),
      'target-arrow-shape': 'none',
      opacity: 0.8,
      'z-index': 4,
      events: 'no',
    },
  },
  { selector: 'edge.labelled, edge.told', style: { label: 'data(text)', 'font-size': 'data(font)' } },
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
  { selector: 'edge.silent', style: { 'line-style': 'dotted' } },
  {
    selector: 'edge.unrelated',
    style: { 'line-style': 'dashed', 'line-color': colour('open-line'), 'target-arrow-color': colour('open-line') },
  },
  {
    selector: 'edge.refusing',
    style: { 'line-color': colour('bad'), 'target-arrow-color': colour('bad'), color: colour('bad') },
  },
  { selector: 'edge.telemetry', style: { 'line-style': 'dotted' } },
  { selector: 'edge.member.faint', style: { visibility: 'hidden' } },
  { selector: 'edge.near', style: { opacity: 1, visibility: 'visible', 'z-index': 8 } },
  {
    selector: 'edge.lost',
    style: {
      'line-color': colour('bad'),
      'target-arrow-color': colour('bad'),
      'line-style': 'dashed',
      width: 4,
      opacity: 1,
      color: colour('bad'),
      'z-index': 9,
    },
  },
  { selector: '.faded', style: { opacity: 0.28 } },
  { selector: 'edge.faded', style: { opacity: 0.12 } },
  { selector: 'node.near, node.found, node.hovered', style: { 'z-index': 12 } },
  {
    selector: 'node.chosen',
    style: {
      'outline-color': colour('focus'),
      'outline-width': 3,
      'outline-offset': 2,
      'outline-opacity': 1,
      'z-index': 13,
    },
  },
  { selector: 'edge.told', style: { 'z-index': 14 } },
]

/** @param {cytoscape.NodeSingular} node */
const groundOf = (node) => node.data('ground')
