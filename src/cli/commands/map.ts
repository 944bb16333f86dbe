import type { Command } from 'commander'
import { type Graph, graphOf } from '../../ask/views/graph.ts'
import type { ApplicationView } from '../../serve/http/applications.ts'
import { mermaid, svg } from '../map.ts'
import { outputOf, withServer } from '../options.ts'
import { print } from '../output.ts'

const DRAW: Readonly<Record<'mermaid' | 'svg' | 'json', (graph: Graph) => string | Promise<string>>> = {
  mermaid,
  svg,
  json: ({ nodes, edges }) =>
    JSON.stringify({ nodes, edges: edges.map(({ from, to, label }) => ({ from, to, label })) }, null, 2),
}

export const map = (program: Command): void => {
  program
    .command('map')
    .summary('draw applications and their relations')
    .description('Draws applications and their relations: -o mermaid, svg or json.')
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo map -o svg > map.svg')
    .action((_: unknown, command: Command) => {
      const output = outputOf(command, ['mermaid', 'svg', 'json'])
      return withServer(command, async ({ server, namespace }) =>
        print(await DRAW[output](graphOf(await server.get<ApplicationView[]>(`/applications/${namespace}`)))),
      )
    })
}
