import cytoscapeModule from 'cytoscape'

declare global {
  /** A separate script loads it. */
  const cytoscape: typeof cytoscapeModule
  namespace cytoscape {
    type StylesheetJson = cytoscapeModule.StylesheetJson
    type Core = cytoscapeModule.Core
    type NodeSingular = cytoscapeModule.NodeSingular
  }
}
