import type { Command } from 'commander'
import { type DryRunOptions, withDryRun } from '../dry-run.ts'
import { parseApplication, withServer } from '../options.ts'
import { send } from '../send.ts'

export const remove = (program: Command): void => {
  const command = program
    .command('remove')
    .summary('remove an application')
    .description(
      'Removes an application: its config, what events told of it, and all that was made for it. Relations that documents declare end with their documents.',
    )
    .argument('<application>', '[namespace/]application')
  withDryRun(command)
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo remove details')
    .action((name: string, options: DryRunOptions, command: Command) =>
      withServer(command, async (settings) => {
        const { namespace, application } = parseApplication(name, settings.namespace)
        await send(settings, { type: 'application-removed', subject: `${namespace}/${application}` }, options)
      }),
    )
}
