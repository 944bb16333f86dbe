import { labelBox } from './layout.js'

/**
 * @typedef {{ readonly id: string, readonly title: string, readonly caption: string, readonly kind: 'beacon' | 'mesh' | 'off' | 'namespace',
 *   readonly x: number, readonly y: number, readonly width: number, readonly height: number }} Drawn An application, or a namespace, by its centre.
 * @typedef {{ readonly from: string, readonly to: string, readonly label: string, readonly isDashed?: boolean }} DrawnLine
 * @typedef {{ readonly nodes: readonly Drawn[], readonly edges: readonly DrawnLine[], readonly frames: readonly import('./layout.js').Frame[],
 *   readonly width: number, readonly height: number }} Drawing
 */

const FILL = { beacon: '#eef2ff', mesh: '#e3f4ea', off: '#f3f4f6', namespace: '#ffffff' }
const STROKE = { beacon: '#4f5bd5', mesh: '#1f7a4d', off: '#6b7280', namespace: '#475569' }

const MARGIN = 16

/**
 * Draws in black on white for print. The colours also differ in greyscale.
 * @param {Drawing} drawing
 */
export const svg = ({ nodes, edges, frames, width, height }) => {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const box = `${-MARGIN} ${-MARGIN} ${Math.ceil(width + 2 * MARGIN)} ${Math.ceil(height + 2 * MARGIN)}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" font-family="system-ui, sans-serif" font-size="13" text-anchor="middle">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 8,4 0,8z" fill="#475569"/></marker></defs>',
    ...frames.map(
      ({ id, kind, x, y, width: wide, height: high }) =>
        `<rect x="${x}" y="${y}" width="${wide}" height="${high}" rx="12" fill="${kind === 'group' ? '#f8fafc' : 'none'}" stroke="#cbd5e1"/><text x="${x + 14}" y="${y + 22}" text-anchor="start" fill="#475569">${escaped(titleOf(id, kind))}</text>`,
    ),
    ...edges.flatMap(({ from, to, label, isDashed }) => {
      const [tail, head] = [byId.get(from), byId.get(to)]
      return tail && head ? [line(tail, head, isDashed === true), text(tail, head, label)] : []
    }),
    ...nodes.map(
      ({ title, caption, kind, x, y, width: wide, height: high }) =>
        `<rect x="${x - wide / 2}" y="${y - high / 2}" width="${wide}" height="${high}" rx="8" fill="${FILL[kind]}" stroke="${STROKE[kind]}"${kind === 'mesh' || kind === 'namespace' ? '' : ' stroke-dasharray="4 3"'}/><text x="${x}" y="${y - 3}" font-weight="600">${escaped(title)}</text><text x="${x}" y="${y + 14}" font-size="11" fill="#475569">${escaped(caption)}</text>`,
    ),
    '</svg>',
  ].join('\n')
}

/** @param {string} id @param {'namespace' | 'group'} kind */
const titleOf = (id, kind) => (kind === 'group' ? `cluster ${id.split('/')[1]}` : id)

/**
 * Connects the sides if the nodes are side by side, else the top and bottom.
 * @param {Drawn} tail @param {Drawn} head
 */
const ends = (tail, head) => {
  const sign = head.x >= tail.x ? 1 : -1
  const isBeside = Math.abs(head.x - tail.x) > (tail.width + head.width) / 2
  if (isBeside)
    return {
      start: { x: tail.x + (sign * tail.width) / 2, y: tail.y },
      end: { x: head.x - (sign * head.width) / 2, y: head.y },
    }
  const down = head.y >= tail.y ? 1 : -1
  return {
    start: { x: tail.x, y: tail.y + (down * tail.height) / 2 },
    end: { x: head.x, y: head.y - (down * head.height) / 2 },
  }
}

/** @param {Drawn} tail @param {Drawn} head @param {boolean} isDashed */
const line = (tail, head, isDashed) => {
  const { start, end } = ends(tail, head)
  const middle = (start.x + end.x) / 2
  return `<path d="M${start.x},${start.y} C${middle},${start.y} ${middle},${end.y} ${end.x},${end.y}" fill="none" stroke="#475569" stroke-width="1.4"${isDashed ? ' stroke-dasharray="5 4"' : ''} marker-end="url(#arrow)"/>`
}

/** @param {Drawn} tail @param {Drawn} head @param {string} label */
const text = (tail, head, label) => {
  if (label === '') return ''
  const { start, end } = ends(tail, head)
  const [x, y] = [(start.x + end.x) / 2, (start.y + end.y) / 2]
  const { width, height } = labelBox(label)
  const lines = label.split('\n')
  return [
    `<rect x="${x - width / 2}" y="${y - height / 2}" width="${width}" height="${height}" rx="4" fill="#fff"/>`,
    ...lines.map(
      (one, index) =>
        `<text x="${x}" y="${y + 4 + (index - (lines.length - 1) / 2) * 15}" font-size="11" fill="#334155">${escaped(one)}</text>`,
    ),
  ].join('')
}

/** @param {string} given */
const escaped = (given) => given.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
