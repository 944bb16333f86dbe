import { Argument, type Command } from 'commander'
import type { ApplicationView } from '../../serve/http/applications.ts'
import { programOptions, withServer } from '../options.ts'
import { print } from '../output.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completion = (program: Command): void => {
  program
    .command('completion')
    .summary('print a script that completes commands in a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', '\nExample:\n  source <(meshstep completion bash)')
    .action((shell: (typeof SHELLS)[number]) => print(SCRIPTS[shell]))
  program
    .command('__complete', { hidden: true })
    .summary('print what may follow, as programs made with cobra do')
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (_: readonly string[], __: unknown, command: Command) => {
      // commander takes options for its own
      const words = process.argv.slice(process.argv.indexOf('__complete') + 1)
      const found = candidates(program, words)
      const names = found.names ? await namesKnown(command) : []
      for (const word of [...found.words, ...names].filter((one) => one.startsWith(words.at(-1) ?? ''))) print(word)
      // no files, unless a file is meant: https://github.com/spf13/cobra/blob/main/site/content/completions/_index.md
      print(found.files ? ':0' : ':4')
    })
}

/** Words that may follow, and whether names of applications or files may. */
type Candidates = { readonly words: readonly string[]; readonly names: boolean; readonly files: boolean }

/** Returns what may follow the words of a command line, of which the last one has just begun. */
export const candidates = (program: Command, words: readonly string[]): Candidates => {
  const [last = '', ...before] = words.toReversed()
  const command = program.commands.find((one) => before.toReversed().includes(one.name()))
  if (command === undefined)
    return { words: last.startsWith('-') ? flagsOf(program, program) : commandsOf(program), names: false, files: false }
  const options = [...command.options, ...programOptions(command)]
  const option = options.find(({ short, long }) => before[0] !== undefined && [short, long].includes(before[0]))
  if (option && (option.required || option.optional)) {
    const files = /file|folder|path/.test(option.flags)
    return { words: option.argChoices ?? [], names: false, files }
  }
  if (last.startsWith('-')) return { words: flagsOf(program, command), names: false, files: false }
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  const isFilled = choices.some((choice) => before.includes(choice))
  const takesNames = command.registeredArguments.some((one) => one.argChoices === undefined && !/file/.test(one.name()))
  const takesFiles = command.registeredArguments.some((one) => /file/.test(one.name()))
  return { words: isFilled ? [] : choices, names: takesNames && (choices.length === 0 || isFilled), files: takesFiles }
}

const commandsOf = (program: Command): string[] =>
  program.commands.map((one) => one.name()).filter((name) => !name.startsWith('_'))

const flagsOf = (program: Command, command: Command): string[] =>
  [...command.options, ...(command === program ? [] : programOptions(command))].flatMap(({ long }) => long ?? [])

/** Lists the applications of the namespace, as far as they can be asked for. */
const namesKnown = (command: Command): Promise<string[]> =>
  withServer(command, async ({ server, namespace }) => {
    const views = await server.get<readonly ApplicationView[]>(`/applications/${namespace}`)
    return views.map(({ application }) => application)
  }).catch(() => [])

const BASH = `_meshstep() {
  local line directive=0
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in :*) directive="\${line#:}";; *) COMPREPLY+=("$line");; esac
  done < <(meshstep __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ "$directive" = 0 ]; then COMPREPLY+=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")); fi
}
complete -F _meshstep meshstep`

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: BASH,
  zsh: `autoload -Uz bashcompinit && bashcompinit\n${BASH}`,
  fish: 'complete -c meshstep -f -a \'(meshstep __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null | string match -v ":*")\'',
}
