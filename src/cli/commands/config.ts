import type { Command } from 'commander'
import { parse } from 'yaml'
import { type DryRunOptions, withDryRun } from '../dry-run.ts'
import { Failure } from '../failure.ts'
import { parseApplication, readInput, withServer } from '../options.ts'
import { send } from '../send.ts'

export const config = (program: Command): void => {
  const command = program
    .command('config')
    .summary('set the whole config of an application')
    .argument('<application>', '[namespace/]application')
    .requiredOption('-f, --file <path>', 'YAML or JSON; - for stdin')
  withDryRun(command)
    .addHelpText('after', "\nExample:\n  echo 'mesh: {}' | meshstep -n bookinfo config beacon -f -")
    .action((name: string, { file, ...options }: DryRunOptions & { file: string }, command: Command) =>
      withServer(command, async (settings) => {
        const { namespace, application } = parseApplication(name, settings.namespace)
        const data = { config: parsed(await readInput(file), file) }
        await send(settings, { type: 'config-changed', subject: `${namespace}/${application}`, data }, options)
      }),
    )
}

/** Parses YAML or JSON. Throws Failure for invalid text, and for empty text, because an empty config would revoke everything. */
export const parsed = (text: string, file: string): unknown => {
  const value = parsedOrThrown(text, file)
  if (value === null) throw new Failure(`${file}: expected YAML or JSON, got nothing; an empty config is {}`)
  return value
}

const parsedOrThrown = (text: string, file: string): unknown => {
  try {
    return parse(text)
  } catch (error) {
    throw new Failure(`${file}: ${(error as Error).message.split('\n')[0]}`, 1, { cause: error })
  }
}
