import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import { hostOrOriginProblem } from '../../platform/base/hosts.ts'
import { type Event, InvalidEvent, readEvent } from '../../platform/cloudevents/cloud-event.ts'
import { Failure } from '../failure.ts'
import { wholeNumber, withServer } from '../options.ts'
import { say } from '../output.ts'
import { ErrorAnswer, type Server } from '../server.ts'

export const record = (program: Command): void => {
  program
    .command('record')
    .summary('record events in a file, and forward them')
    .description(
      'Takes events, writes each to a line of a file, and forwards it to the functions, until it is interrupted.',
    )
    .argument('<file>', 'the file to append to')
    .option('--port <number>', 'the port to listen on', wholeNumber(0, 65_535), 8090)
    .addHelpText('after', '\nExample:\n  meshstep record events.jsonl --port 8090')
    .action((path: string, { port }: { port: number }, command: Command) =>
      withServer(command, async ({ server }) => {
        const file = createWriteStream(path, { flags: 'a' })
        await opened(once(file, 'open'), path)
        const proxy = createServer(async (request, response) => {
          const answer = await passOn(server, request, (line) => file.write(`${line}\n`)).catch((error: Error) => error)
          const isRefused = answer instanceof Error
          response.writeHead(isRefused ? statusOf(answer) : 200, { 'content-type': 'application/json' })
          response.end(JSON.stringify(isRefused ? { message: answer.message } : answer))
        })
        proxy.listen(port, '127.0.0.1')
        await opened(once(proxy, 'listening'), `port ${port}`)
        say(`recording events for http://localhost:${(proxy.address() as AddressInfo).port} in ${path}`)
        await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
        proxy.close()
        proxy.closeAllConnections()
        file.end()
        await once(file, 'close')
      }),
    )
}

/** Returns the status of the functions' answer, or of an invalid event. It is 502 if the functions do not answer. */
const statusOf = (error: Error): number =>
  error instanceof ErrorAnswer || error instanceof InvalidEvent ? error.status : 502

const opened = async (opening: Promise<unknown>, what: string): Promise<void> => {
  try {
    await opening
  } catch (error) {
    throw new Failure(`${what} cannot be opened: ${(error as Error).message}`, 1, { cause: error })
  }
}

/** Forwards questions as they are, and events after they are recorded. */
const passOn = async (server: Server, request: IncomingMessage, keep: (line: string) => void): Promise<unknown> => {
  const { method, url = '/' } = request
  const problem = hostOrOriginProblem(request.headers, [])
  if (problem !== undefined) throw new ErrorAnswer(403, problem)
  if (method === 'GET') return await server.get(url)
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  const line = lineOf(readEvent({ headers, body: await buffer(request) }))
  keep(line)
  return await server.post(url, 'application/cloudevents+json', line)
}

/** Formats the event in CloudEvents' JSON format. */
const lineOf = ({ extensions, data, ...attributes }: Event): string => {
  const content = data instanceof Uint8Array ? { data_base64: Buffer.from(data).toString('base64') } : { data }
  return JSON.stringify({ specversion: '1.0', ...attributes, ...extensions, ...content })
}
