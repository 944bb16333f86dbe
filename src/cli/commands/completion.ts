import { Argument, type Command } from 'commander'
import { programOptions } from '../options.ts'
import { print } from '../output.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completion = (program: Command): void => {
  program
    .command('completion')
    .summary('print a script that completes commands in a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', '\nExample:\n  source <(meshstep completion bash)')
    .action((shell: (typeof SHELLS)[number]) => {
      const commands = program.commands.map((command) => ({
        name: command.name(),
        summary: command.summary(),
        words: [
          ...[...command.options, ...programOptions(command)].flatMap(({ long }) => long ?? []),
          ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
        ],
      }))
      print(shell === 'fish' ? fish(commands) : bash(commands, shell === 'zsh'))
    })
}

type Completed = { readonly name: string; readonly summary: string; readonly words: readonly string[] }

const bash = (commands: readonly Completed[], isZsh: boolean): string =>
  [
    ...(isZsh ? ['autoload -Uz bashcompinit && bashcompinit'] : []),
    '_meshstep() {',
    `  local word="\${COMP_WORDS[COMP_CWORD]}" command="" each`,
    `  for each in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do case "$each" in ${commands.map(({ name }) => name).join('|')}) command="$each"; break;; esac; done`,
    '  case "$command" in',
    ...commands.map(({ name, words }) => `    ${name}) COMPREPLY=($(compgen -W "${words.join(' ')}" -- "$word"));;`),
    `    *) COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$word"));;`,
    '  esac',
    '}',
    'complete -o default -F _meshstep meshstep',
  ].join('\n')

const fish = (commands: readonly Completed[]): string =>
  commands
    .flatMap(({ name, summary, words }) => [
      `complete -c meshstep -n __fish_use_subcommand -a ${name} -d '${summary.replaceAll("'", '’')}'`,
      ...words.map((word) =>
        word.startsWith('--')
          ? `complete -c meshstep -n '__fish_seen_subcommand_from ${name}' -l ${word.slice(2)}`
          : `complete -c meshstep -n '__fish_seen_subcommand_from ${name}' -a ${word}`,
      ),
    ])
    .join('\n')
