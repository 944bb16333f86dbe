import { expect, test } from 'vitest'
import { stepsIn } from '../../src/cli/commands/tail.ts'

const SEEN = 'id: a-1\ndata: {"application":"db"}\n\n'

async function* stream(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part)
}

const read = async (...parts: string[]) => {
  const steps: unknown[] = []
  for await (const step of stepsIn(stream(': steps follow\n\n', ...parts))) steps.push(step)
  return steps
}

test('steps are told until the connection ends', async () => {
  expect(await read(SEEN, SEEN)).toEqual([{ application: 'db' }, { application: 'db' }])
})

test('a server that sends no more to who asks says why, and that is no step', async () => {
  const end = 'event: end\ndata: {"status":403,"reason":"unauthorized","message":"jane may not see them"}\n\n'
  await expect(read(SEEN, end)).rejects.toThrow('jane may not see them')
})
