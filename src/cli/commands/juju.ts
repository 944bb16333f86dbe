import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { stringify } from 'yaml'
import type { Plan } from '../../ask/preview/preview.ts'
import type { CrossModelIdentity } from '../../core/relations/databags/cross-model.ts'
import { Failure } from '../failure.ts'
import { readFiles } from '../input.ts'
import { askJuju } from '../juju/ask.ts'
import { withCluster } from '../juju/cluster.ts'
import type { ConfigOption } from '../juju/config.ts'
import { type Derived, type DeriveOptions, deriveDocuments } from '../juju/documents.ts'
import { type Model, readModels } from '../juju/parse-output.ts'
import { repeat } from '../juju/repeat.ts'
import { createRoundPrinter, endOf, printRound, proposalOf } from '../juju/report.ts'
import { planRound, type Round, type RoundPlan, takeRound } from '../juju/round.ts'
import { createRun } from '../juju/run.ts'
import { formatOf, outputOf, parseAddress, parseDuration, wholeNumber, withServer } from '../options.ts'
import { print, printList, say } from '../output.ts'
import { printPlan, whilePlanning } from '../plan.ts'

type Options = {
  model?: string
  juju: string
  timeout: number
  watch?: true
  every: number
  dryRun?: true
  print?: true
  peers?: boolean
  author?: string
  remote: ReadonlyMap<string, CrossModelIdentity>
  config: readonly ConfigOption[]
  api?: string
  context?: string
}

export const juju = (program: Command): void => {
  program
    .command('juju')
    .summary('keep the relation documents of a Juju model')
    .description(
      'Reads a model with the juju command, and keeps a relation document for each of its relations, in the namespace of the model. Documents of relations that are gone are deleted, and the end of an application that is gone is told. With files, or --print, it prints the documents instead. Exit code 2 if a relation cannot be derived.',
    )
    .argument('[file...]', 'recorded output of juju status and juju show-unit to read instead; - for stdin')
    .addOption(new Option('-m, --model <name>', '[controller:][user/]model; juju models lists them').env('JUJU_MODEL'))
    .addOption(new Option('--juju <program>', 'the juju command').env('MESHSTEP_JUJU').default('juju'))
    .option('--timeout <seconds>', 'how long one call of juju may take', wholeNumber(1), 60)
    .option('--watch', 'go on until interrupted')
    .option('--every <time>', 'the pause between two rounds, such as 30s or 5m', parseDuration, 30_000)
    .addOption(
      new Option(
        '--dry-run',
        'say what it would do, as plan does; exit code 2 if access would be lost, 3 if that is not known',
      ).conflicts('watch'),
    )
    .addOption(new Option('--print', 'print all documents, and write none').conflicts(['watch', 'dryRun']))
    .option('--peers', 'write peer relations, too')
    .option('--author <user>', 'the user who applies the documents, if senders are authenticated (kubectl auth whoami)')
    .option(
      '--remote <alias=namespace/application>',
      'the real name of an application of another model; may be repeated',
      remotes,
      new Map(),
    )
    .option(
      '--config <application:option>',
      'an option of a charm with the config of its application for meshstep; may be repeated',
      configOptions,
      [],
    )
    .addOption(
      new Option('--api <url>', 'an API server that asks for no credentials; by default that of KUBECONFIG')
        .env('MESHSTEP_API')
        .argParser(parseAddress),
    )
    .addHelpText(
      'after',
      '\nExample:\n  meshstep juju --model bookinfo --dry-run\n  meshstep juju --model bookinfo --watch',
    )
    .action(async (files: string[], _: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      if (files.length > 0) printDocuments(command, ofFiles(readModels(await readFiles(files)), options), [])
      else await follow(command, options)
    })
}

const deriveOptions = ({ peers = false, author, remote }: Options): DeriveOptions => ({
  withPeers: peers,
  author,
  remotes: remote,
})

const ofFiles = (models: readonly Model[], options: Options): Derived[] =>
  models.map((model) => deriveDocuments(model, models, deriveOptions(options)))

/** Follows the model of the juju command: once, or until interrupted; or only shows what it asks for. */
const follow = async (command: Command, options: Options): Promise<void> => {
  const { model } = options
  // the current model may be another one at the next call of juju
  if (model === undefined) throw new Failure('name the model with --model: juju models lists them')
  const deriving = deriveOptions(options)
  const run = createRun({ program: options.juju, timeoutMilliseconds: options.timeout * 1_000 })
  const ask = () => askJuju(run, model, options.config)
  if (options.print) {
    const { models, configs, notes } = await ask()
    return printDocuments(command, [deriveDocuments(models[0], models, { ...deriving, configs, isAll: true })], notes)
  }
  const format = formatOf(command)
  if (options.dryRun) {
    const answer = await ask()
    return await showPlan(command, await withCluster(options, (kubernetes) => planRound(kubernetes, answer, deriving)))
  }
  const report = options.watch ? createRoundPrinter(format) : (done: Round) => printRound(format, done)
  const round = async (): Promise<void> => {
    const answer = await ask()
    const told = (namespace: string, application: string) => tellEnd(command, namespace, application)
    report(await withCluster(options, (kubernetes) => takeRound(kubernetes, answer, deriving, told)))
  }
  if (options.watch) await watch(round, options.every)
  else await round()
}

/** Prints documents. Throws Failure, 2, if a relation cannot be derived, for which `reasons` may say why. */
const printDocuments = (command: Command, derived: readonly Derived[], reasons: readonly string[]): void => {
  const output = outputOf(command, ['yaml', 'json'])
  const documents = derived.flatMap((one) => one.documents)
  if (output === 'json') printList(documents)
  else for (const document of documents) print(`---\n${stringify(document)}`)
  for (const note of derived.flatMap(({ notes }) => notes)) say(note)
  const unknown = derived.flatMap((one) => one.unknown)
  if (unknown.length > 0) throw new Failure([...unknown, ...reasons].join('\n'), 2)
}

/** Shows what would be done, and its effect. */
const showPlan = (command: Command, planned: RoundPlan): Promise<void> =>
  withServer(command, async ({ server, format }) => {
    for (const note of [...planned.notes, ...planned.unknown]) say(note)
    const proposal = proposalOf(planned)
    if (proposal.length === 0) return print('nothing would change')
    const planning = server.post<Plan>('/plan', 'application/yaml', proposal.join('\n---\n'))
    printPlan(format, await whilePlanning(planning), { failOn: 'lose' })
  })

const tellEnd = (command: Command, namespace: string, application: string): Promise<void> =>
  withServer(command, async ({ server }) => {
    await server.post('/', 'application/cloudevents+json', endOf(namespace, application))
  })

/** Repeats rounds until the process is asked to end. */
const watch = async (round: () => Promise<void>, every: number): Promise<void> => {
  const end = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort())
  await repeat(round, {
    every,
    onFailure: ({ message }) => say(`error: ${message}`),
    isOver: () => end.signal.aborted,
    sleep: (milliseconds) => sleep(milliseconds, undefined, { signal: end.signal }).catch(() => undefined),
  })
}

const remotes = (
  given: string,
  before: ReadonlyMap<string, CrossModelIdentity>,
): ReadonlyMap<string, CrossModelIdentity> => {
  const [, alias, namespace, application] = /^([-a-z0-9]+)=([-a-z0-9]+)\/([-a-z0-9]+)$/.exec(given) ?? []
  if (alias === undefined || namespace === undefined || application === undefined)
    throw new InvalidArgumentError('Expected alias=namespace/application.')
  return new Map([...before, [alias, { namespace, application }]])
}

const configOptions = (given: string, before: readonly ConfigOption[]): readonly ConfigOption[] => {
  const [, application, option] = /^([-a-z0-9]+):([-\w]+)$/.exec(given) ?? []
  if (application === undefined || option === undefined) throw new InvalidArgumentError('Expected application:option.')
  return [...before, { application, option }]
}
