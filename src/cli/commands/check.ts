import type { Command } from 'commander'
import { readFacts } from '../../ask/check/facts.ts'
import { judge } from '../../ask/check/judge.ts'
import { Failure } from '../failure.ts'
import { clusterOf, formatOf, namespaceIn } from '../options.ts'
import { printAs } from '../output.ts'
import { transportTo } from '../server.ts'

export const check = (program: Command): void => {
  program
    .command('check')
    .summary('check that a cluster has what meshstep needs')
    .description(
      'Checks the cluster of the current context, before or after meshstep is installed in the namespace: versions, APIs, the mesh, Knative, and what was installed, with its rights. It asks with your own rights, and writes nothing. Exit code 2 if something is missing, 3 if something is not known.',
    )
    .option('--account <name>', 'the ServiceAccount of the functions', 'meshstep')
    .addHelpText('after', '\nExample:\n  meshstep -n shop check\n  kubectl meshstep check --context staging')
    .action(async ({ account }: { account: string }, command: Command) => {
      const cluster = clusterOf(command) ?? {}
      const transport = await transportTo(cluster)
      try {
        const namespace = await namespaceIn(command, cluster)
        const checks = judge(await readFacts(transport, namespace, account))
        printAs(formatOf<never>(command), checks, (all) => ({
          titles: ['RESULT', 'CHECK', 'MESSAGE'],
          rows: all.map((one) => [one.result, one.check, one.todo ? `${one.message}: ${one.todo}` : one.message]),
        }))
        const count = (result: string) => checks.filter((one) => one.result === result).length
        if (count('failed') > 0) throw new Failure(`${count('failed')} of ${checks.length} checks failed`, 2)
        if (count('unknown') > 0) throw new Failure(`${count('unknown')} of ${checks.length} are not known`, 3)
      } finally {
        transport.close()
      }
    })
}
