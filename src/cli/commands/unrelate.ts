import type { Command } from 'commander'
import type { ApplicationView } from '../../serve/http/applications.ts'
import { unrelate as relation } from '../../serve/page/relating.ts'
import { type DryRunOptions, withDryRun } from '../dry-run.ts'
import { parseName, wholeNumber, withServer } from '../options.ts'
import { send } from '../send.ts'

export const unrelate = (program: Command): void => {
  const command = program
    .command('unrelate')
    .summary('end the relation of two applications')
    .argument('<application>', '[namespace/]application[:endpoint]')
    .argument('<remote>', '[namespace/]application[:endpoint]')
    .option('--id <number>', 'the id of the relation, if there are several', wholeNumber(0))
  withDryRun(command)
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo unrelate details:details productpage')
    .action((first: string, second: string, options: DryRunOptions & { id?: number }, command: Command) =>
      withServer(command, async (settings) => {
        const [one, other] = [parseName(first, settings.namespace), parseName(second, settings.namespace)]
        const [own, remote] = one.endpoint === undefined && other.endpoint !== undefined ? [other, one] : [one, other]
        const view = await settings.server.get<ApplicationView>(`/applications/${own.namespace}/${own.application}`)
        await send(settings, relation(view, { own, remote, id: options.id }), options)
      }),
    )
}
