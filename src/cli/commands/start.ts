import type { Command } from 'commander'

export const start = (program: Command): void => {
  program
    .command('start')
    .summary('serve the functions here, to try them')
    .description(
      'Serves all functions at PORT (8080), on the cluster that KUBECONFIG names, or else on a small Kubernetes API of its own with an example, at EMBEDDED_PORT (8001).',
    )
    .addHelpText('after', '\nExample:\n  meshstep start')
    .action(async () => {
      const { runLocal } = await import('../local.ts')
      await runLocal([])
    })
}
