import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import type { DoneStep } from '../../reconcile/handle.ts'
import { withServer } from '../options.ts'
import { print, say } from '../output.ts'
import { isTold } from '../send.ts'

export const tail = (program: Command): void => {
  program
    .command('tail')
    .summary('show steps as they are taken')
    .description('Shows the steps that the functions take in a namespace, until it is interrupted.')
    .option('--count <number>', 'end after so many')
    .addHelpText('after', '\nExample:\n  meshstep -n bookinfo tail')
    .action(({ count = 'Infinity' }: { count?: string }, command: Command) =>
      withServer(command, async ({ server, namespace, format }) => {
        const stream = await server.open('/steps', { namespace })
        say(`watching ${namespace}`)
        let left = Number(count)
        for await (const step of stepsIn(stream)) {
          print(format === 'table' ? rowOf(step) : JSON.stringify(step))
          left -= 1
          if (left <= 0) return
        }
      }),
    )
}

/** The data of server-sent events; the connection ends with who reads them. */
async function* stepsIn(stream: AsyncIterable<Uint8Array>): AsyncGenerator<DoneStep> {
  const input = Readable.from(stream)
  try {
    for await (const line of createInterface(input))
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as DoneStep
  } finally {
    input.destroy()
  }
}

/** Columns of fixed width: what comes is not known. */
const rowOf = ({ time, application = '', status, event, written }: DoneStep): string => {
  const type = event.type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1')
  const objects = written.filter(isTold).join(', ')
  return [time.slice(11, 19), application.padEnd(20), status.padEnd(9), type.padEnd(16), objects].join('  ').trimEnd()
}
