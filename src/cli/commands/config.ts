import type { Command } from 'commander'
import { type DryRunOptions, withDryRun } from '../dry-run.ts'
import { readDocuments, valueIn } from '../input.ts'
import { parseApplication, withServer } from '../options.ts'
import { located } from '../problem-places.ts'
import { send } from '../send.ts'

export const config = (program: Command): void => {
  const command = program
    .command('config')
    .summary('set the whole config of an application')
    .argument('<application>', '[namespace/]application')
    .requiredOption('-f, --file <path>', 'YAML or JSON; - for stdin')
  withDryRun(command)
    .addHelpText('after', "\nExample:\n  echo 'mesh: {}' | meshstep -n bookinfo config beacon -f -")
    .action((name: string, { file, ...options }: DryRunOptions & { file: string }, command: Command) =>
      withServer(command, async (settings) => {
        const { namespace, application } = parseApplication(name, settings.namespace)
        const documents = await readDocuments([file])
        const data = { config: valueIn(file, documents) }
        const sent = { type: 'config-changed', subject: `${namespace}/${application}`, data }
        await located(send(settings, sent, options), documents, 'data.config')
      }),
    )
}
