import { type Command, Option } from 'commander'
import type { Said } from '../local.ts'

/** Adds the options of the start to a command. */
export const withSaid = (command: Command): Command =>
  command
    .addOption(
      new Option('--host <address>', 'where to listen; ALLOWED_HOSTS has other names that lead there').default(
        '127.0.0.1',
      ),
    )
    .option('-y, --yes', 'act on the cluster of KUBECONFIG without asking')
    .option('--without-authentication', 'with --host: take events of other machines without a token')

export const start = (program: Command): void => {
  withSaid(program.command('start'))
    .summary('serve the functions here, to try them')
    .description(
      'Serves all functions at PORT (8080) of this machine alone, on the cluster that KUBECONFIG names, once that is agreed to, or else on a small Kubernetes API of its own with an example, at EMBEDDED_PORT (8001).',
    )
    .addHelpText('after', '\nExample:\n  meshstep start')
    .action(async (said: Said) => {
      const { runLocal } = await import('../local.ts')
      await runLocal([], said)
    })
}
