import type { Command } from 'commander'
import type { Proposed } from '../../ask/propose/proposal.ts'
import { askAbout, type PrometheusOptions, withPrometheus } from '../ask-traffic.ts'
import { Failure } from '../failure.ts'
import { outputOf, parseApplication, windowOption, withServer } from '../options.ts'
import { print, printList, say } from '../output.ts'
import { listedLines, proposedYaml } from '../propose.ts'

type Options = PrometheusOptions & { readonly window: string; readonly audit?: true }

export const propose = (program: Command): void => {
  const command = program
    .command('propose')
    .summary('write documents for the traffic that was seen')
    .description(
      'Writes documents with relations and policies, with which all traffic that was seen stays allowed, and other traffic to these applications is refused. Each has its evidence as a comment. What looks like an attack, a probe or a scan is not let in, but listed on stderr and at the end.',
    )
    .argument('[application...]', '[namespace/]application; all of the namespace if none is named')
    .addOption(windowOption('24h'))
    .option('--audit', 'write the policies as dry runs')
  withPrometheus(command)
    .addHelpText(
      'after',
      '\nExample:\n  meshstep -n bookinfo propose > bookinfo.yaml && meshstep plan -f bookinfo.yaml',
    )
    .action((applications: string[], { window, audit, ...options }: Options, command: Command) => {
      const output = outputOf(command, ['yaml', 'json'])
      return withServer(command, async ({ server, namespace: usual }) => {
        const names = applications.map((one) => parseApplication(one, usual))
        const [namespace = usual, ...others] = new Set(names.map((one) => one.namespace))
        if (others.length > 0)
          throw new Failure(`expected applications of one namespace, got ${[namespace, ...others].join(', ')}`)
        const asked = {
          namespace,
          window,
          audit: audit && 'true',
          application: names.map(({ application }) => application),
        }
        const proposed = await askAbout<Proposed>(server, options, '/propose', asked)
        if (output === 'json') printList(proposed.documents.map(({ document }) => document))
        else print(proposedYaml(proposed))
        for (const line of listedLines(proposed)) say(line)
        for (const note of proposed.notes) say(note)
      })
    })
}
