import { type Command, Option } from 'commander'
import { examples } from '../../embedded/demo/examples.ts'
import type { Said } from '../local.ts'

/** Adds the options of the start to a command. */
export const withSaid = (command: Command): Command =>
  command
    .addOption(
      new Option('--host <address>', 'the address to listen on; other host names for it go into ALLOWED_HOSTS').default(
        '127.0.0.1',
      ),
    )
    .option('-y, --yes', 'act on the cluster of KUBECONFIG without asking')
    .option('--prometheus <url>', 'a Prometheus that knows the traffic of the mesh, as PROMETHEUS_URL')
    .addOption(
      new Option('--example <name>', 'what the embedded Kubernetes API begins with (default: bookinfo)').choices(
        Object.keys(examples),
      ),
    )
    .option('--without-authentication', 'with --host: take events from other machines without a token')

export const start = (program: Command): void => {
  withSaid(program.command('start'))
    .summary('serve the functions here, to try them')
    .description(
      'Serves all functions at PORT (8080), for this machine only. They act on the cluster of KUBECONFIG if it is set and you agree, else on a small embedded Kubernetes API with an example, at EMBEDDED_PORT (8001).',
    )
    .addHelpText('after', '\nExample:\n  meshstep start\n  meshstep start --example traffic')
    .action(async (said: Said) => {
      const { runLocal } = await import('../local.ts')
      await runLocal([], said)
    })
}
