import { type Command, Option } from 'commander'
import type { Plan } from '../../ask/preview/preview.ts'
import { autoAllowWaypoint, readInput, withServer } from '../options.ts'
import { type FailOn, printPlan, whilePlanning } from '../plan.ts'
import { withQuery } from '../server.ts'

type Options = { file: string[]; delete?: true; diff?: true; failOn: FailOn; autoAllowWaypoint?: string }

export const plan = (program: Command): void => {
  program
    .command('plan')
    .summary('show the effect of documents and events')
    .description(
      'Shows the effect of documents and events without applying them: changed objects, and gained or lost access. Exit code 2 if access is lost or an expectation is not met, 3 if not everything could be compared.',
    )
    .requiredOption('-f, --file <path...>', 'YAML or JSON, a folder of such files, or - for stdin')
    .option('--delete', 'plan the deletion of the documents')
    .option('--diff', 'print each object’s change as a unified diff')
    .addOption(new Option('--fail-on <what>', 'when to exit with 2').choices(['lose', 'widen', 'none']).default('lose'))
    .addOption(autoAllowWaypoint())
    .addHelpText('after', '\nExample:\n  meshstep plan -f details.yaml')
    .action((options: Options, command: Command) =>
      withServer(command, async ({ server, namespace, format }) => {
        const documents = (await Promise.all(options.file.map(readInput))).join('\n---\n')
        const { autoAllowWaypoint, delete: isDeletion } = options
        const flags = { delete: isDeletion && 'true', autoAllowWaypoint, namespace }
        const answer = await whilePlanning(server.post<Plan>(withQuery('/plan', flags), 'application/yaml', documents))
        printPlan(format, answer, { isDiffed: options.diff === true, failOn: options.failOn })
      }),
    )
}
