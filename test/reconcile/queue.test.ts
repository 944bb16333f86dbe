import { expect, test } from 'vitest'
import { createQueue } from '../../src/reconcile/queue.ts'
import type { Change } from '../../src/reconcile/remember.ts'
import { SUBJECT } from '../helpers/world.ts'

const CHANGE: Change = { observation: true, fold: (state) => ({ state }) }

/** So many senders, each of which sends its next event when the one before was answered; the sizes of the batches. */
const batchesOf = async (senders: number, events: number): Promise<number[]> => {
  const sizes: number[] = []
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  const enqueue = createQueue(async (_, changes) => {
    sizes.push(changes.length)
    await turn()
    return { outcomes: changes.map(() => new Error('taken')), due: { nudges: [], announcements: [] } }
  }, turn)
  const send = async () => {
    for (let sent = 0; sent < events; sent += 1) await enqueue(SUBJECT, CHANGE, 0).catch(() => undefined)
  }
  await Promise.all(Array.from({ length: senders }, send))
  return sizes
}

test('senders that send one event after another are taken together', async () => {
  expect(await batchesOf(4, 3)).toEqual([1, 3, 4, 4])
})

test('a single sender waits for nobody', async () => {
  expect(await batchesOf(1, 3)).toEqual([1, 1, 1])
})
