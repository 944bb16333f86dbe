import type { Command } from 'commander'
import { type DryRunOptions, withDryRun } from '../dry-run.ts'
import { readDocuments, valueIn } from '../input.ts'
import { withServer } from '../options.ts'
import { located } from '../problem-places.ts'
import { send as sendEvent } from '../send.ts'

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
          if (file === undefined) return await sendEvent(settings, { type, subject }, options)
          const documents = await readDocuments([file])
          const data = valueIn(file, documents)
          await located(sendEvent(settings, { type, subject, data }, options), documents, 'data')
        }),
    )
}
