import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createQueue } from '../../../src/core/events/queue.ts'
import type { Change } from '../../../src/core/reconcile/change.ts'
import { EMPTY_OUTBOX, type Outbox } from '../../../src/core/reconcile/outbox.ts'
import { type Outcome, UNCHANGED } from '../../../src/core/reconcile/outcome.ts'
import type { Batch, Stepped } from '../../../src/core/reconcile/step.ts'
import { event, SUBJECT } from '../../helpers/world.ts'

const TOLD: Change = { observation: false, fold: (state) => ({ state }) }
const SEEN: Change = { observation: true, fold: (state) => ({ state }) }
const NOTED: Change = { ...SEEN, note: true }

const OUTCOME: Outcome = UNCHANGED

/** A clock that stands still: who is waited for comes, or nothing goes on. */
const STILL = { now: () => 0, sleep: () => new Promise<void>(() => undefined), yieldTurn: async () => undefined }

const stepped = (changes: readonly Change[]): Stepped => ({
  outcomes: changes.map(() => new Error('taken')),
  due: { nudges: [], announcements: [] },
})

/** A step that reads the memory for a turn, then takes its changes, and works for another one; the sizes of its batches. */
const createStep = () => {
  const sizes: number[] = []
  const step = async (_: unknown, { take }: Batch): Promise<Stepped> => {
    await turn()
    const changes = take()
    sizes.push(changes.length)
    await turn()
    return stepped(changes)
  }
  return { sizes, step }
}

test('senders that send one event after another are taken together', async () => {
  const { sizes, step } = createStep()
  const enqueue = createQueue(step, STILL)
  const send = async () => {
    for (let sent = 0; sent < 3; sent += 1) await enqueue(SUBJECT, TOLD, 0).catch(() => undefined)
  }
  void Promise.all(Array.from({ length: 4 }, send))
  while (sizes.length < 3) await turn()
  expect(sizes).toEqual([4, 4, 4])
})

test('senders that send nothing more are waited for as long as their step took, between 20 and 200 ms', async () => {
  const waits: number[] = []
  let now = 0
  const clock = { ...STILL, now: () => now, sleep: async (milliseconds: number) => void waits.push(milliseconds) }
  for (const took of [5, 70, 700]) {
    const enqueue = createQueue(async (_, { take }) => {
      await turn()
      now += took
      return stepped(take())
    }, clock)
    await Promise.allSettled([1, 2].map(() => enqueue(SUBJECT, TOLD, 0)))
    await turn()
  }
  expect(waits).toEqual([20, 70, 200])
})

test('a single sender waits for nobody, and neither does a note', async () => {
  const { sizes, step } = createStep()
  const enqueue = createQueue(step, STILL)
  for (const _ of [1, 2, 3]) await Promise.allSettled([enqueue(SUBJECT, TOLD, 0), enqueue(SUBJECT, NOTED, 0)])
  expect(sizes).toEqual([1, 1, 1, 1, 1, 1])
})

test('a note that nobody waits for is taken with what comes next', async () => {
  const { sizes, step } = createStep()
  const enqueue = createQueue(step, STILL)
  const send = async (sender: number) => {
    for (let sent = 0; sent < 3; sent += 1) {
      await enqueue(SUBJECT, TOLD, 0).catch(() => undefined)
      if (sender === 0 && sent === 0) enqueue(SUBJECT, NOTED, 0).catch(() => undefined)
    }
  }
  void Promise.all([0, 1, 2, 3].map(send))
  while (sizes.length < 3) await turn()
  expect(sizes).toEqual([4, 5, 4])
})

test('what is told while a step reads the memory joins it, and what is only observed does not', async () => {
  const batches: (readonly Change[])[] = []
  const enqueue = createQueue(async (_, { take }) => {
    await turn()
    batches.push(take())
    return stepped(batches.at(-1) ?? [])
  })
  const sent = [SEEN].map((change) => enqueue(SUBJECT, change, 0))
  await Promise.resolve()
  sent.push(...[TOLD, SEEN, NOTED, TOLD].map((change) => enqueue(SUBJECT, change, 0)))
  await Promise.allSettled(sent)
  expect(batches).toEqual([
    [SEEN, TOLD, TOLD],
    [SEEN, NOTED],
  ])
})

test('a step that fails before it has taken anything fails for all that wait', async () => {
  const enqueue = createQueue(async () => {
    throw new Error('away')
  })
  const ended = await Promise.allSettled([TOLD, SEEN].map((change) => enqueue(SUBJECT, change, 0)))
  expect(ended.map((one) => one.status === 'rejected' && one.reason.message)).toEqual(['away', 'away'])
})

describe('what follows from a step', () => {
  const DUE: Outbox = { nudges: [], announcements: [{ number: 1, event: event('service-changed', {}) }] }

  /** What each change is answered with that is to be told to others. */
  const tell = async (changes: readonly Change[], refused: readonly Change[] = []): Promise<(Outbox | undefined)[]> => {
    const enqueue = createQueue(async (_, { take }) => {
      await turn()
      const outcomes = take().map((change) => (refused.includes(change) ? new Error('refused') : OUTCOME))
      return { outcomes, due: DUE }
    })
    const results = await Promise.allSettled(changes.map((change) => enqueue(SUBJECT, change, 0)))
    return results.map((one) => (one.status === 'fulfilled' ? one.value.due : undefined))
  }

  test.each<[string, readonly Change[], readonly Change[], readonly (Outbox | undefined)[]]>([
    ['the first of its senders', [TOLD, TOLD], [], [DUE, EMPTY_OUTBOX]],
    ['a sender, and not a note that came before it', [NOTED, TOLD], [], [EMPTY_OUTBOX, DUE]],
    ['a sender that was not refused', [TOLD, { ...TOLD }], [TOLD], [undefined, DUE]],
    ['a note where every sender is refused', [NOTED, TOLD], [TOLD], [DUE, undefined]],
  ])('what follows from a step is for %s to tell', async (_, changes, refused, told) => {
    expect(await tell(changes, refused)).toEqual(told)
  })
})

test('others have a turn between two answers of a step, and not before the first', async () => {
  const turns: number[] = []
  const answered: number[] = []
  const clock = { ...STILL, sleep: async () => undefined, yieldTurn: async () => void turns.push(answered.length) }
  const enqueue = createQueue(async (_, { take }) => {
    await turn()
    return { outcomes: take().map(() => OUTCOME), due: EMPTY_OUTBOX }
  }, clock)
  await Promise.all([1, 2, 3].map((number) => enqueue(SUBJECT, TOLD, 0).then(() => answered.push(number))))
  expect(turns).toHaveLength(2)
})

test('a step has the earliest deadline of its changes, and the trace of the first that has one', async () => {
  const batches: Omit<Batch, 'take'>[] = []
  const enqueue = createQueue(async (_, { take, ...batch }) => {
    batches.push(batch)
    const outcomes = take().map(() => OUTCOME)
    await turn()
    return { outcomes, due: EMPTY_OUTBOX }
  })
  const traced = { ...TOLD, trace: { traceparent: 'a' } }
  const all = async (...changes: readonly Change[]) => {
    const first = enqueue(SUBJECT, SEEN, 0)
    await Promise.all([first, ...changes.map((change, index) => enqueue(SUBJECT, change, 9 - index))])
    return batches.pop()
  }
  expect(await all(TOLD, traced, { ...TOLD, trace: { traceparent: 'b' } })).toEqual({
    ...{ deadline: 7, trace: { traceparent: 'a' } },
  })
  expect(await all(traced)).toEqual({ deadline: 9, trace: { traceparent: 'a' } })
  expect(await all(NOTED)).toEqual({ deadline: 9, trace: undefined })
})

test('applications have queues of their own', async () => {
  const { sizes, step } = createStep()
  const enqueue = createQueue(step, STILL)
  const subjects = [SUBJECT, { ...SUBJECT, application: 'db' }, { ...SUBJECT, namespace: 'data' }]
  await Promise.allSettled(subjects.map((subject) => enqueue(subject, TOLD, 0)))
  expect(sizes).toEqual([1, 1, 1])
})

test('a step that fails with something other than an error fails for its changes, and the next one is taken', async () => {
  let count = 0
  const enqueue = createQueue(async (_, { take }) => {
    count += 1
    const changes = take()
    if (count === 1) throw 'away'
    return { outcomes: changes.map(() => OUTCOME), due: EMPTY_OUTBOX }
  })
  await expect(enqueue(SUBJECT, TOLD, 0)).rejects.toThrow('away')
  expect(await enqueue(SUBJECT, TOLD, 0)).toEqual({ outcome: OUTCOME, due: EMPTY_OUTBOX })
})
