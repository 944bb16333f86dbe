import type { Command } from 'commander'
import { formatOf, withServer } from '../options.ts'
import { printAs, say } from '../output.ts'

export const version = (program: Command): void => {
  program
    .command('version')
    .summary('print the version of the command, and that of the functions')
    .option('--client', 'only of the command')
    .addHelpText('after', '\nExample:\n  meshstep version')
    .action(async ({ client }: { client?: true }, command: Command) => {
      const own = program.version() ?? ''
      const server = client ? undefined : await versionOfServer(command).catch((error: Error) => say(error.message))
      printAs(formatOf<never>(command), { client: own, ...(server && { server }) }, () =>
        [`client ${own}`, ...(server ? [`functions ${server}`] : [])].join('\n'),
      )
    })
}

const versionOfServer = (command: Command): Promise<string> =>
  withServer(command, async ({ server }) => {
    const { info } = await server.get<{ info: { version: string } }>('/schemas/asyncapi.json')
    return info.version
  })
