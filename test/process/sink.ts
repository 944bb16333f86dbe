import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

type Answer = { status: number; headers?: Record<string, string>; body?: string }

export type Event = { id: string; type: string; sequence: string; source: string; subject: string; data: unknown }

const UNKNOWN: Answer = { status: 404 }

const nextOf = (answers: Answer[]): Answer => (answers.length > 1 && answers.shift()) || (answers[0] ?? UNKNOWN)

/** Stands in for meshstep: gives the answers in their order, the last one for ever, and keeps what was sent. */
export const startSink = async (...answers: Answer[]) => {
  const events: Event[] = []
  const requests: string[] = []
  const tokens: (string | undefined)[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    tokens.push(request.headers.authorization)
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      if (request.method === 'POST') events.push(JSON.parse(Buffer.concat(parts).toString('utf8')))
      const answer = request.method === 'GET' ? UNKNOWN : nextOf(answers)
      response.writeHead(answer.status, answer.headers)
      response.end(answer.body ?? '{"status":"unchanged"}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, events, requests, tokens, types: () => events.map(({ type }) => type.split('.')[2]) }
}
