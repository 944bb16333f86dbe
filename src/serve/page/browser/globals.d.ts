import cytoscapeModule from 'cytoscape'
import type { ElkNode } from './layout.js'

declare global {
  /** A separate script loads it. */
  const cytoscape: typeof cytoscapeModule
  const ELK: new (options: { workerUrl: string }) => { layout(graph: ElkNode): Promise<ElkNode> }
  namespace cytoscape {
    type StylesheetJson = cytoscapeModule.StylesheetJson
    type Core = cytoscapeModule.Core
    type NodeSingular = cytoscapeModule.NodeSingular
    type Collection = cytoscapeModule.Collection
    type CollectionReturnValue = cytoscapeModule.CollectionReturnValue
    type SingularElementArgument = cytoscapeModule.SingularElementArgument
  }
}
