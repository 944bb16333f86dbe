import type { Command } from 'commander'
import type { Plan } from '../../ask/preview/preview.ts'
import { Failure } from '../failure.ts'
import { readDocuments } from '../input.ts'
import { autoAllowWaypoint, withServer } from '../options.ts'
import { printAs, say } from '../output.ts'
import { expectationLines } from '../plan.ts'
import { located } from '../problem-places.ts'
import { withQuery } from '../server.ts'

export const expect = (program: Command): void => {
  program
    .command('expect')
    .summary('check that requests are allowed or refused as expected')
    .description('Checks a list of expectations against the current cluster. Exit code 2 if one is not met.')
    .requiredOption(
      '-f, --file <path...>',
      'YAML or JSON with `expect: [{from, to, port, method, path, allowed}]`; - for stdin',
    )
    .addOption(autoAllowWaypoint())
    .addHelpText('after', '\nExample:\n  meshstep expect -f expectations.yaml')
    .action(({ file, ...flags }: { file: string[]; autoAllowWaypoint?: string }, command: Command) =>
      withServer(command, async ({ server, namespace, format }) => {
        const documents = await readDocuments(file)
        const path = withQuery('/plan', { ...flags, namespace })
        const { expectations, incomplete } = await located(
          server.post<Plan>(path, 'application/yaml', documents.text),
          documents,
        )
        if (expectations.length === 0) throw new Failure(`${file.join(', ')}: expected an \`expect\` list, got none`)
        printAs(format, expectations, (all) => expectationLines(all).join('\n'))
        for (const one of incomplete) say(one)
        const unmet = expectations.filter(({ met }) => !met).length
        if (unmet > 0) throw new Failure(`${unmet} of ${expectations.length} expectations are not met`, 2)
        if (incomplete.length > 0)
          throw new Failure(`it is not known what the documents change (${incomplete.length})`, 3)
      }),
    )
}
