import type { ApplicationView } from '../http/applications.ts'

export type Graph = {
  readonly nodes: readonly { readonly id: string; readonly kind: 'beacon' | 'mesh' | 'off' }[]
  readonly edges: readonly { readonly from: string; readonly to: string; readonly label: string }[]
}

/** Applications, and an edge from each requirer to its provider; who is on which mesh is a kind of node. */
export const graphOf = (views: readonly ApplicationView[]): Graph => {
  const edges = views.flatMap(edgesOf)
  // told by both sides, of which the provider knows its endpoint
  const byKey = new Map(
    edges.toSorted((one, other) => Number(one.isOwn) - Number(other.isOwn)).map((one) => [one.key, one]),
  )
  const kinds = new Map<string, Graph['nodes'][number]['kind']>(
    edges.flatMap(({ from, to }) => [[from, 'off'] as const, [to, 'off'] as const]),
  )
  for (const view of views) kinds.set(`${view.namespace}/${view.application}`, kindOf(view))
  return {
    nodes: [...kinds].map(([id, kind]) => ({ id, kind })).toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    edges: [...byKey.values()].map(({ from, to, label }) => ({ from, to, label })),
  }
}

const kindOf = ({ config, labels = {} }: ApplicationView): Graph['nodes'][number]['kind'] => {
  if (config?.mesh) return 'beacon'
  return labels['istio.io/dataplane-mode'] === 'ambient' ? 'mesh' : 'off'
}

/** Relations with a beacon are no edges: nodes show who is on the mesh. */
const edgesOf = ({ namespace, application, relations = [] }: ApplicationView) =>
  relations
    .filter(({ stands, interface: name }) => stands && name !== 'service_mesh')
    .map(({ id, endpoint: label, role, remote }) => {
      const own = `${namespace}/${application}`
      const isOwn = role === 'provides'
      const [from, to] = isOwn ? [remote, own] : [own, remote]
      return { key: `${id} ${from} ${to}`, from, to, label, isOwn }
    })

/** https://mermaid.js.org/syntax/flowchart.html */
export const mermaid = ({ nodes, edges }: Graph): string => {
  const number = new Map(nodes.map(({ id }, index) => [id, `n${index}`]))
  return [
    'graph LR',
    ...nodes.map(({ id, kind }) => `  ${number.get(id)}["${id}"]:::${kind}`),
    ...edges.map(({ from, to, label }) => `  ${number.get(from)} -->|${label}| ${number.get(to)}`),
    '  classDef beacon stroke-dasharray: 4',
    '  classDef mesh fill:#dfd',
    '  classDef off fill:#eee',
  ].join('\n')
}

const RADIUS = 200
const CENTRE = 300
const FILL = { beacon: '#fff', mesh: '#dfd', off: '#eee' } as const

/** Nodes on a circle. */
export const svg = ({ nodes, edges }: Graph): string => {
  const places = new Map(
    nodes.map(({ id }, index) => {
      const angle = (2 * Math.PI * index) / nodes.length
      return [
        id,
        { x: Math.round(CENTRE + RADIUS * Math.cos(angle)), y: Math.round(CENTRE + RADIUS * Math.sin(angle)) },
      ]
    }),
  )
  const at = (id: string) => places.get(id) ?? { x: CENTRE, y: CENTRE }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 600" font-family="sans-serif" font-size="12" text-anchor="middle">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0 8,4 0,8z"/></marker></defs>',
    ...edges.map(({ from, to, label }) => {
      const [start, end] = [at(from), at(to)]
      const [x, y] = [(start.x + 2 * end.x) / 3, (start.y + 2 * end.y) / 3]
      return `<path d="M${start.x},${start.y} ${end.x},${end.y}" stroke="#666" marker-end="url(#arrow)"/><text x="${x}" y="${y}">${escaped(label)}</text>`
    }),
    ...nodes.map(({ id, kind }) => {
      const { x, y } = at(id)
      return `<rect x="${x - 60}" y="${y - 14}" width="120" height="28" rx="4" fill="${FILL[kind]}" stroke="#333"/><text x="${x}" y="${y + 4}">${escaped(id)}</text>`
    }),
    '</svg>',
  ].join('\n')
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
