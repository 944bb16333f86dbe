import cytoscapeModule from 'cytoscape'

declare global {
  /** Loaded by a script of its own. */
  const cytoscape: typeof cytoscapeModule
  namespace cytoscape {
    type StylesheetJson = cytoscapeModule.StylesheetJson
    type Core = cytoscapeModule.Core
    type NodeSingular = cytoscapeModule.NodeSingular
  }
}
