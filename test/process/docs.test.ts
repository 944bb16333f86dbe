import { describe, expect, test } from 'vitest'
import { serveExample, settle } from './helpers.ts'
import { answerTo, commandsOf, pages } from './pages.ts'

describe.each(pages())('docs/%s', (page) => {
  test('its commands are answered as it says', async () => {
    const server = await serveExample()
    const commands = commandsOf(page)
    expect(commands.length).toBeGreaterThan(0)
    for (const command of commands) {
      const { name, expected, sent } = command
      await settle(server)
      const { code, body } = await answerTo(command, server.url)
      const status = sent.startsWith('{') ? body.status : expected
      expect([name, code, status], JSON.stringify(body)).toEqual([name, 200, expected])
    }
    await server.end('SIGTERM')
  })
})
