import { createRequire } from 'node:module'
import { getAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'
import type { Graph } from '../ask/views/graph.ts'
import { findFile } from '../serve/page/assets.ts'
import { createLayout, type ElkNode, labelBox, nodeBox } from '../serve/page/browser/layout.js'
import { svg as drawn } from '../serve/page/browser/svg.js'

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
export const svg = async ({ nodes, edges }: Graph): Promise<string> => {
  const described = nodes.map(({ id, kind }) => {
    const [namespace = '', title = ''] = id.split('/')
    return { id, kind, namespace, title, caption: CAPTIONS[kind], ...nodeBox(title, CAPTIONS[kind]) }
  })
  const lines = edges.map(({ from, to, label }) => ({ from, to, label: labelBox(label) }))
  const { places, ...layout } = await createLayout(layoutLibrary())(described, lines)
  const placed = described.map((node) => ({ ...node, ...(places.get(node.id) ?? { x: 0, y: 0 }) }))
  return drawn({ ...layout, nodes: placed, edges })
}

type Library = {
  readonly default: new (options: { workerFactory(): unknown }) => { layout(graph: ElkNode): Promise<ElkNode> }
}

/** The files that the page's worker loads in a browser, in this thread. Nobody else needs them, so they are not bundled. */
const layoutLibrary = (): ((graph: ElkNode) => Promise<ElkNode>) => {
  const require = createRequire(import.meta.url)
  const load = (name: string) => {
    if (!isSea()) return require(fileURLToPath(findFile(name)))
    const module = { exports: {} }
    compileFunction(getAsset(name, 'utf8'), ['require', 'module', 'exports'])(require, module, module.exports)
    return module.exports
  }
  const { default: Elk } = load('elk-api.js') as Library
  const { Worker } = load('elk-worker.min.js')
  const elk = new Elk({ workerFactory: () => new Worker() })
  return (graph) => elk.layout(graph)
}
