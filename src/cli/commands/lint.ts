import type { Command } from 'commander'
import type { Finding } from '../../lint/lint.ts'
import { Failure } from '../failure.ts'
import { withServer } from '../options.ts'
import { printAs, table } from '../output.ts'

export const lint = (program: Command): void => {
  program
    .command('lint')
    .summary('name what is probably not meant')
    .description('Names what is probably not meant in a namespace. Exit code 2 when there is something.')
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo lint')
    .action((_: unknown, command: Command) =>
      withServer(command, async ({ server, namespace, format }) => {
        const findings = await server.get<Finding[]>('/lint', { namespace })
        printAs(format, findings, (all) =>
          all.length === 0
            ? 'nothing found'
            : table(
                ['RULE', 'ABOUT', 'MESSAGE'],
                all.map(({ rule, about, message }) => [rule, about, message]),
              ),
        )
        if (findings.length > 0) throw new Failure(`${findings.length} found`, 2)
      }),
    )
}
