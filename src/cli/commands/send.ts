import type { Command } from 'commander'
import { type DryRunOptions, withDryRun } from '../dry-run.ts'
import { readInput, withServer } from '../options.ts'
import { send as sendEvent } from '../send.ts'
import { parsed } from './config.ts'

export const send = (program: Command): void => {
  const command = program
    .command('send')
    .summary('send any event')
    .argument('<type>', 'the type, such as resync or dev.meshstep.resync.v1')
    .argument('<subject>', 'namespace or namespace/application')
    .option('-f, --file <path>', 'the data, YAML or JSON; - for stdin')
  withDryRun(command)
    .addHelpText('after', '\nExample:\n  meshstep send resync bookinfo')
    .action(
      (type: string, subject: string, { file, ...options }: DryRunOptions & { file?: string }, command: Command) =>
        withServer(command, async (settings) => {
          const data = file === undefined ? {} : { data: parsed(await readInput(file), file) }
          await sendEvent(settings, { type, subject, ...data }, options)
        }),
    )
}
