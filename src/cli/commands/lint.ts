import { relative } from 'node:path'
import type { Command } from 'commander'
import { joinPods } from '../../ask/lint/file-objects.ts'
import { type FileFinding, fileFindings, otherDocuments, podsIn } from '../../ask/lint/files.ts'
import type { Finding } from '../../ask/lint/finding.ts'
import { RULES } from '../../ask/lint/rules.ts'
import { sarif } from '../../ask/lint/sarif.ts'
import { Failure } from '../failure.ts'
import { readFiles } from '../input.ts'
import { formatOf, withServer } from '../options.ts'
import { print, printAs, say, type Table } from '../output.ts'

type Found = Finding | FileFinding

export const lint = (program: Command): void => {
  program
    .command('lint')
    .summary('find probable mistakes')
    .description(
      'Finds probable mistakes in a namespace, or with -f in policies in files, without a cluster. Exit code 2 if it finds anything worse than a note.',
    )
    .option(
      '-f, --file <path...>',
      'YAML or JSON with policies of Istio or config documents, a folder of such files, or - for stdin',
    )
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo lint\n  meshstep lint -f policies/ -o sarif > lint.sarif')
    .action(async ({ file }: { file?: string[] }, command: Command) => {
      const format = formatOf(command, ['sarif'])
      const show = (findings: readonly Found[]): void => {
        if (format === 'sarif') print(JSON.stringify(sarif(findings.map(fromHere), program.version() ?? ''), null, 2))
        else printAs(format, findings, tableOf)
        if (findings.some(isCounted)) throw new Failure(`${findings.filter(isCounted).length} found`, 2)
      }
      if (file) return show(await findingsOf(file))
      return await withServer(command, async ({ server, namespace }) =>
        show(await server.get<Finding[]>('/lint', { namespace })),
      )
    })
}

/** Tells if a finding makes the command fail. A note does not. */
const isCounted = ({ rule }: Found): boolean => RULES[rule].level !== 'note'

/** Makes the path relative, because a pull request names files by their path in the repository. */
const fromHere = (found: Found): Found => ('file' in found ? { ...found, file: relative('', found.file) } : found)

const findingsOf = async (paths: readonly string[]): Promise<FileFinding[]> => {
  const files = await readFiles(paths)
  for (const { path, text } of files)
    for (const line of otherDocuments(text))
      say(`${path}:${line}: nothing is looked for in it: it is no object with a kind`)
  // a policy may select pods of another file
  const known = joinPods(files.map(({ text }) => podsIn(text)))
  return files.flatMap(({ path, text }) => fileFindings(text, path, known))
}

const tableOf = (findings: readonly Found[]): Table | string =>
  findings.length === 0
    ? 'nothing found'
    : {
        titles: ['RULE', 'ABOUT', 'MESSAGE'],
        rows: findings.map((one) => [one.rule, 'file' in one ? `${one.file}:${one.line}` : one.about, one.message]),
      }
