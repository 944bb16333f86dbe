import { Argument, type Command } from 'commander'
import { stringify } from 'yaml'
import { Failure } from '../failure.ts'
import { importModels } from '../juju/import.ts'
import { readModels } from '../juju/read.ts'
import { outputOf, readInput } from '../options.ts'
import { print, say } from '../output.ts'

export const importFrom = (program: Command): void => {
  program
    .command('import')
    .summary('write relation documents for the relations of Juju')
    .description(
      'Writes relation documents for the relations of Juju, from the output of juju status and juju show-unit with --format json, and from the table of juju status --relations. Exit code 2 if a relation cannot be derived.',
    )
    .addArgument(new Argument('<platform>').choices(['juju']))
    .argument('<file...>', 'output of Juju; - for stdin. Units and tables belong to the preceding status')
    .option('--peers', 'write peer relations, too')
    .option(
      '--author <user>',
      'the user who will apply the documents, if senders are authenticated (kubectl auth whoami)',
    )
    .addHelpText(
      'after',
      '\nExample:\n  (juju status --format json; juju status --relations; juju show-unit --format json web/0) | meshstep import juju -',
    )
    .action(async (_: 'juju', paths: string[], { peers = false, author }: Options, command: Command) => {
      const output = outputOf(command, ['yaml', 'json'])
      const inputs: { path: string; text: string }[] = []
      for (const path of paths) inputs.push({ path, text: await readInput(path) })
      const { documents, notes, unknown } = importModels(readModels(inputs), { withPeers: peers, author })
      if (output === 'json') print(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: documents }, null, 2))
      else for (const document of documents) print(`---\n${stringify(document)}`)
      for (const note of notes) say(note)
      if (unknown.length > 0) throw new Failure(unknown.join('\n'), 2)
    })
}

type Options = { readonly peers?: boolean; readonly author?: string }
