import type { Command } from 'commander'
import type { ApplicationView } from '../../serve/http/applications.ts'
import { relate as relation } from '../../serve/page/relating.ts'
import { type DryRunOptions, withDryRun } from '../dry-run.ts'
import { parseName, wholeNumber, withServer } from '../options.ts'
import { send } from '../send.ts'

type Options = { id?: number; interface?: string; role?: 'provides' | 'requires' } & DryRunOptions

export const relate = (program: Command): void => {
  const command = program
    .command('relate')
    .summary('relate two applications')
    .description(
      'Relates two applications, in either order. The one that is named with its endpoint provides that to the other. An application that is related to a beacon is its consumer.',
    )
    .argument('<application>', '[namespace/]application[:endpoint]')
    .argument('<remote>', '[namespace/]application[:endpoint]')
    .option('--interface <name>', 'the interface (default: that of a known endpoint, else http)')
    .option(
      '--role <role>',
      'the role of the first application, provides or requires (default: as endpoints, relations and configs tell)',
    )
    .option(
      '--id <number>',
      'the id of the relation (default: that of the same relation, else the next one)',
      wholeNumber(0),
    )
  withDryRun(command)
    .addHelpText(
      'after',
      '\nExample:\n  meshstep -n bookinfo relate details:details productpage\n  meshstep -n bookinfo relate details beacon',
    )
    .action((first: string, second: string, options: Options, command: Command) =>
      withServer(command, async (settings) => {
        const [own, remote] = [parseName(first, settings.namespace), parseName(second, settings.namespace)]
        const viewsIn = (namespace: string) => settings.server.get<ApplicationView[]>(`/applications/${namespace}`)
        const views = await viewsIn(own.namespace)
        // the other side is only asked for a hint at the roles
        if (remote.namespace !== own.namespace) views.push(...(await viewsIn(remote.namespace).catch(() => [])))
        const { id, role, interface: name } = options
        await send(settings, relation(views, { own, remote, interface: name, role, id }), options)
      }),
    )
}
