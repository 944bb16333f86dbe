import type { Command } from 'commander'
import type { ApplicationView } from '../../http/applications.ts'
import { Failure } from '../failure.ts'
import { parseName, wholeNumber, withServer } from '../options.ts'
import { send } from '../send.ts'

export const unrelate = (program: Command): void => {
  program
    .command('unrelate')
    .summary('end a relation of two applications')
    .argument('<application>', '[namespace/]application[:endpoint]')
    .argument('<remote>', '[namespace/]application')
    .option('--id <number>', 'which one, where there are several', wholeNumber(0))
    .option('--dry-run', 'print what would happen, and do nothing; exit code 2 when access would be lost')
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo unrelate details:details productpage')
    .action((first: string, second: string, options: { id?: number; dryRun?: true }, command: Command) =>
      withServer(command, async (settings) => {
        const [own, remote] = [parseName(first, settings.namespace), parseName(second, settings.namespace)]
        const subject = `${own.namespace}/${own.application}`
        const { relations } = await settings.server.get<ApplicationView>(`/applications/${subject}`)
        const found = relations.filter(
          (one) =>
            one.stands &&
            one.remote === `${remote.namespace}/${remote.application}` &&
            (own.endpoint === undefined || one.endpoint === own.endpoint) &&
            (options.id === undefined || one.id === options.id),
        )
        const [relation, ...others] = found
        if (relation === undefined) throw new Failure(`${subject} has no such relation with ${remote.application}`)
        if (others.length > 0)
          throw new Failure(`which one? ${found.map(({ id, endpoint }) => `--id ${id} (${endpoint})`).join(', ')}`)
        const data = { relation: { id: relation.id } }
        await send(settings, { type: 'relation-broken', subject, data }, options.dryRun)
      }),
    )
}
