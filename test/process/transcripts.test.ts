import { expect, test } from 'vitest'
import { serve, temporaryDirectory } from './helpers.ts'
import { replay, transcriptOf } from './transcripts.ts'

test.each(['README.md', 'docs/commands.md'])('the commands of %s print what stands below them', async (page) => {
  const server = await serve({ entry: 'src/local.ts', environment: { EMBEDDED_PORT: '0' } })
  const transcript = transcriptOf(page)
  expect(transcript.length).toBeGreaterThan(5)
  expect(replay(transcript, await temporaryDirectory(), server.url)).toEqual(transcript)
  await server.end('SIGTERM')
})
