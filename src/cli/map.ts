import type { Graph } from '../ask/views/graph.ts'
import { labelBox, layOut, nodeBox } from '../serve/page/layout.ts'
import { svg as drawn } from '../serve/page/svg.ts'

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

const CAPTIONS = { beacon: 'beacon', mesh: 'on mesh', off: 'off mesh' } as const

/** Nodes from left to right along the traffic. */
export const svg = ({ nodes, edges }: Graph): string => {
  const described = nodes.map(({ id, kind }) => {
    const [namespace = '', title = ''] = id.split('/')
    return { id, kind, namespace, title, caption: CAPTIONS[kind], ...nodeBox(title, CAPTIONS[kind]) }
  })
  const lines = edges.map(({ from, to, label }) => ({ from, to, label: labelBox(label) }))
  return drawn({ ...layOut(described, lines), edges })
}
