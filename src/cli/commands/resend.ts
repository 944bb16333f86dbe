import type { Command } from 'commander'
import { structuredEvent } from '../../platform/cloudevents/cloud-event.ts'
import { lettersInFile } from '../../serve/http/dead-letter-records.ts'
import { Failure } from '../failure.ts'
import { readInput } from '../input.ts'
import { withServer } from '../options.ts'
import { say } from '../output.ts'
import { sendLines } from '../send-lines.ts'

export const resend = (program: Command): void => {
  program
    .command('resend')
    .summary('send dead letters again')
    .description(
      'Sends dead letters again, with their original ids. Exit code 2 if one is refused, 1 if one cannot be sent, or if there are none.',
    )
    .argument('<file>', 'the log of the dead-letter sink, or one event on each line; - for stdin')
    .addHelpText('after', '\nExample:\n  kubectl -n meshstep logs deploy/dead-letter | meshstep resend -')
    .action((path: string, _options: object, command: Command) =>
      withServer(command, async ({ server, format }) => {
        const { letters, unreadable } = lettersInFile(await readInput(path))
        if (letters.length + unreadable === 0) throw new Failure(`${path} holds no dead letters`)
        if (unreadable > 0) {
          say(`${unreadable} cannot be sent again: they cannot be read, or held secrets, which are not kept`)
          process.exitCode = 1
        }
        await sendLines(
          letters.map((letter) => JSON.stringify(structuredEvent(letter))),
          server,
          format,
        )
      }),
    )
}
