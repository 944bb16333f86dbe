import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import type { DoneStep } from '../../core/events/handle.ts'
import { Failure } from '../failure.ts'
import { wholeNumber, withServer } from '../options.ts'
import { type Format, print, say } from '../output.ts'
import { stepRow } from '../step-row.ts'

export const tail = (program: Command): void => {
  program
    .command('tail')
    .summary('show steps as they are taken')
    .description('Shows the steps that the functions take in a namespace, until it is interrupted.')
    .option('--count <number>', 'end after this many steps', wholeNumber(1))
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo tail')
    .action(({ count = Number.POSITIVE_INFINITY }: { count?: number }, command: Command) =>
      withServer(command, async ({ server, namespace, format }) => {
        const stream = await server.open('/steps', { namespace })
        say(`watching ${namespace}`)
        let left = count
        for await (const step of stepsIn(stream)) {
          print(textOf(format, step))
          left -= 1
          if (left <= 0) return
        }
      }),
    )
}

/** The text of a step: a line, or a YAML document. */
const textOf = ({ kind }: Format, step: DoneStep): string =>
  kind === 'json' ? JSON.stringify(step) : kind === 'yaml' ? `---\n${stringify(step)}` : stepRow(step)

/** Reads the data of server-sent events, and ends the connection with the last reader. Throws Failure with the reason if the server ends the stream. */
export async function* stepsIn(stream: AsyncIterable<Uint8Array>): AsyncGenerator<DoneStep> {
  const input = Readable.from(stream)
  try {
    let isEnd = false
    for await (const line of createInterface(input)) {
      if (line === 'event: end') isEnd = true
      if (!line.startsWith('data: ')) continue
      const data = JSON.parse(line.slice('data: '.length))
      if (isEnd) throw new Failure(data.message)
      yield data as DoneStep
    }
  } finally {
    input.destroy()
  }
}
