import type { Command } from 'commander'
import { askTraffic, type PrometheusOptions, withPrometheus } from '../ask-traffic.ts'
import { formatOf, windowOption, withServer } from '../options.ts'
import { isForPeople, print, printAs, say } from '../output.ts'
import { trafficMermaid, trafficTable } from '../traffic.ts'

export const traffic = (program: Command): void => {
  const command = program
    .command('traffic')
    .summary('show who talked to the applications of a namespace')
    .description(
      'Shows who talked to the applications of a namespace, how much, and how often they were refused, and if a relation and policies stand for it. Prometheus tells, by what the proxies of the mesh count. They name no port: a class is about all ports of a target.',
    )
    .addOption(windowOption('1h'))
  withPrometheus(command)
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo traffic --window 24h')
    .action((options: PrometheusOptions & { window: string }, command: Command) => {
      const output = formatOf(command, ['mermaid'])
      return withServer(command, async ({ server, namespace }) => {
        const view = await askTraffic(server, options, { namespace, window: options.window })
        if (output === 'mermaid') return print(trafficMermaid(view))
        printAs(output, view, trafficTable)
        if (isForPeople(output)) for (const note of view.notes) say(note)
      })
    })
}
