import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import { type Event, readEvent } from '../../cloudevents/cloud-event.ts'
import { withServer } from '../options.ts'
import { say } from '../output.ts'
import type { Server } from '../server.ts'

export const record = (program: Command): void => {
  program
    .command('record')
    .summary('pass events on, and keep them in a file')
    .description('Takes events, keeps each as a line of a file, and passes it on, until it is interrupted.')
    .argument('<file>', 'where to keep them; what is there stays')
    .option('--port <number>', 'where to take events', '8090')
    .addHelpText('after', '\nExample:\n  meshstep record events.jsonl --port 8090')
    .action((path: string, { port }: { port: string }, command: Command) =>
      withServer(command, async ({ server }) => {
        const file = createWriteStream(path, { flags: 'a' })
        await once(file, 'open')
        const proxy = createServer(async (request, response) => {
          const answer = await passOn(server, request, (line) => file.write(`${line}\n`)).catch((error: Error) => error)
          const isRefused = answer instanceof Error
          response.writeHead(isRefused ? 502 : 200, { 'content-type': 'application/json' })
          response.end(JSON.stringify(isRefused ? { message: answer.message } : answer))
        })
        proxy.listen(Number(port))
        await once(proxy, 'listening')
        say(`recording events for http://localhost:${(proxy.address() as AddressInfo).port} in ${path}`)
        await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
        proxy.close()
        proxy.closeAllConnections()
        file.end()
        await once(file, 'close')
      }),
    )
}

/** Questions are passed on as they are; events are kept first. */
const passOn = async (server: Server, request: IncomingMessage, keep: (line: string) => void): Promise<unknown> => {
  const { method, url = '/' } = request
  if (method === 'GET') return await server.get(url)
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  const line = lineOf(readEvent({ headers, body: await buffer(request) }))
  keep(line)
  return await server.post(url, 'application/cloudevents+json', line)
}

/** The event in CloudEvents' JSON format. */
const lineOf = ({ extensions, data, ...attributes }: Event): string => {
  const content = data instanceof Uint8Array ? { data_base64: Buffer.from(data).toString('base64') } : { data }
  return JSON.stringify({ specversion: '1.0', ...attributes, ...extensions, ...content })
}
