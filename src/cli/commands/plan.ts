import type { Command } from 'commander'
import type { Plan } from '../../ask/preview/preview.ts'
import { type PrometheusOptions, withPrometheus } from '../ask-traffic.ts'
import { failOn } from '../dry-run.ts'
import { readDocuments } from '../input.ts'
import { withTraffic } from '../loss-traffic.ts'
import { autoAllowWaypoint, withServer } from '../options.ts'
import { type FailOn, printPlan, whilePlanning } from '../plan.ts'
import { located, locateIncomplete } from '../problem-places.ts'
import { withQuery } from '../server.ts'

type Options = PrometheusOptions & {
  file: string[]
  delete?: true
  diff?: true
  failOn: FailOn
  autoAllowWaypoint?: string
}

export const plan = (program: Command): void => {
  const command = program
    .command('plan')
    .summary('show the effect of documents and events')
    .description(
      'Shows the effect of documents and events without applying them: changed objects, and gained or lost access. Exit code 2 if access is lost or an expectation is not met, 3 if not everything could be compared.',
    )
    .requiredOption('-f, --file <path...>', 'YAML or JSON, a folder of such files, or - for stdin')
    .option('--delete', 'plan the deletion of the documents')
    .option('--diff', 'print each object’s change as a unified diff')
    .addOption(failOn('when to exit with 2'))
    .addOption(autoAllowWaypoint())
  withPrometheus(command)
    .addHelpText('after', '\nExample:\n  meshstep plan -f details.yaml')
    .action((options: Options, command: Command) =>
      withServer(command, async ({ server, namespace, format }) => {
        const documents = await readDocuments(options.file)
        const { autoAllowWaypoint, delete: isDeletion } = options
        const flags = { delete: isDeletion && 'true', autoAllowWaypoint, namespace }
        const asking = server.post<Plan>(withQuery('/plan', flags), 'application/yaml', documents.text)
        const answer = await whilePlanning(located(asking, documents))
        const told = { ...answer, incomplete: locateIncomplete(answer.incomplete, documents) }
        printPlan(format, await withTraffic(told, server, options), {
          isDiffed: options.diff === true,
          failOn: options.failOn,
        })
      }),
    )
}
