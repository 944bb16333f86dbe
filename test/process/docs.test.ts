import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { serve } from './helpers.ts'

const folder = new URL('../../docs/', import.meta.url)

/** The commands of a page in the order in which they stand there; `curl` is replaced by what prints the body it would send, or its URL. */
const commandsOf = (page: string): { name: string; expected: string | undefined; sent: string }[] => {
  const text = readFileSync(new URL(page, folder), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
  const script = `kubectl() { :; }
curl() { printf '%s\\0' "\${@: -1}"; }\n${blocks.join('\n')}`
  const printed = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
  const lines = blocks.join('\n').match(/^(send|curl) .*$/gm) ?? []
  return printed.map((sent, index) => ({
    name: lines[index] ?? '',
    expected: / # (\w+)$/.exec(lines[index] ?? '')?.[1],
    sent,
  }))
}

const pages = readdirSync(folder).filter((page) => readFileSync(new URL(page, folder), 'utf8').includes('\nsend '))

describe.each(pages)('docs/%s', (page) => {
  test('its commands are answered as it says', async () => {
    const server = await serve({ entry: 'src/local.ts', environment: { EMBEDDED_PORT: '0' } })
    const commands = commandsOf(page)
    expect(commands.length).toBeGreaterThan(0)
    for (const { name, expected, sent } of commands) {
      const isEvent = sent.startsWith('{')
      const response = isEvent
        ? await fetch(server.url, {
            method: 'POST',
            headers: { 'content-type': 'application/cloudevents+json' },
            body: sent,
          })
        : await fetch(sent.replace('localhost:8080', server.url))
      const body = (await response.json()) as Record<string, unknown>
      expect([name, response.status, isEvent ? body.status : expected], JSON.stringify(body)).toEqual([
        name,
        200,
        expected,
      ])
    }
    await server.end('SIGTERM')
  })
})
