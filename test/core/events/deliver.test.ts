import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createDelivery, type Followed, type OutboxOf, type Send } from '../../../src/core/events/deliver.ts'
import type { Enqueue } from '../../../src/core/events/queue.ts'
import type { Change } from '../../../src/core/reconcile/change.ts'
import { EMPTY_OUTBOX, type Outbox } from '../../../src/core/reconcile/outbox.ts'
import { type Outcome, UNCHANGED } from '../../../src/core/reconcile/outcome.ts'
import type { Nudge } from '../../../src/core/relations/offers/nudges.ts'
import { relationKey } from '../../../src/core/state/relation.ts'
import { Unavailable } from '../../../src/platform/base/errors.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { fakeClock } from '../../helpers/clock.ts'
import { entryOf, stateOf } from '../../helpers/states.ts'
import { event, SUBJECT } from '../../helpers/world.ts'

const ENTRY = entryOf()
const CAUSE = event('cause', {}, { id: 'cause', extensions: { traceparent: '00-a-b-01' } })

const nudge = (subject: string, changes: Partial<Nudge> = {}): Nudge => ({
  ...{ key: relationKey(ENTRY), shows: 'hash', isRemembered: false, name: `to ${subject}` },
  event: { ...event('relation-changed', {}), id: subject, subject },
  ...changes,
})

const announcement = (number: number) => ({ number, event: { ...event('service-changed', {}), subject: 'shop/web' } })

const outbox = (nudges: readonly Nudge[], announcements: Outbox['announcements'] = []): OutboxOf => ({
  ...{ subject: SUBJECT, cause: CAUSE },
  due: { nudges, announcements },
})

/** A sink that answers by the subject of an event, and what it and the queue were given. */
const createWorld = (answer: (sent: Event) => Followed | Error | undefined = () => undefined, due = EMPTY_OUTBOX) => {
  const sent: Event[] = []
  const notes: { change: Change; deadline: number }[] = []
  const announced: (readonly number[])[] = []
  const clock = fakeClock()
  const send: Send = async (one) => {
    sent.push(one)
    const result = answer(one)
    if (result instanceof Error) throw result
    return result
  }
  const enqueue: Enqueue = async (_, change, deadline) => {
    notes.push({ change, deadline })
    return { outcome: UNCHANGED, due: notes.length === 1 ? due : EMPTY_OUTBOX }
  }
  const features = {
    announced: <S>(state: S, numbers: readonly number[]) => {
      announced.push(numbers)
      return state
    },
  }
  const left: unknown[] = []
  const later = (work: Promise<unknown>) => {
    left.push(work)
    return work
  }
  const deliver = createDelivery({ features, send, enqueue, clock, later })
  return { deliver: (first: OutboxOf) => deliver(first, clock.now() + 10_000), sent, notes, announced, left, clock }
}

const followed = (application: string, changes: Partial<Outcome> = {}, due: Outbox = EMPTY_OUTBOX): Followed => ({
  outcome: { ...UNCHANGED, ...changes },
  next: { subject: { namespace: 'shop', application }, due, cause: CAUSE },
})

describe('a delivery', () => {
  test('a delivery names what was sent in order, and what was refused with the reason', async () => {
    const { deliver } = createWorld(({ subject }) => (subject === 'b' ? new Error('no') : undefined))
    expect(await deliver(outbox([nudge('c'), nudge('b'), nudge('a')], [announcement(1)]))).toEqual({
      published: ['service-changed of shop/web', 'to a', 'to c'],
      refused: [{ name: 'to b', reason: 'no' }],
      effects: [],
    })
  })

  test('a delivery to a receiver that is away fails once all others are served', async () => {
    const { deliver, sent } = createWorld(({ subject }) => (subject === 'a' ? new Unavailable('away') : undefined))
    await expect(deliver(outbox([nudge('a'), nudge('b')]))).rejects.toThrow('away')
    expect(sent.map(({ subject }) => subject).toSorted()).toEqual(['a', 'b'])
  })

  test('a delivery of nothing sends and notes nothing, and leaves nothing for later', async () => {
    const { deliver, sent, notes, left } = createWorld()
    expect(await deliver(outbox([]))).toEqual({ published: [], refused: [], effects: [] })
    expect([sent, notes, left]).toEqual([[], [], []])
  })

  test('a delivery names the event that caused it, and its trace', async () => {
    const { deliver, sent } = createWorld()
    const one = nudge('a')
    await deliver(outbox([{ ...one, event: { ...one.event, extensions: { partitionkey: 'a' } } }]))
    expect(sent[0]?.extensions).toEqual({
      partitionkey: 'a',
      causationid: 'cause',
      correlationid: 'cause',
      traceparent: '00-a-b-01',
    })
  })

  test('a delivery reports the steps that follow, except those that wrote only their memory, and sends their messages', async () => {
    const { deliver, sent } = createWorld(({ subject }) => {
      if (subject === 'a')
        return followed('a', { status: 'changed', written: ['x'], removed: ['y'] }, outbox([nudge('b')]).due)
      return followed(String(subject), subject === 'b' ? {} : { messages: ['a sentence'] })
    })
    const { effects, published } = await deliver(outbox([nudge('a'), nudge('c')]))
    expect(effects).toStrictEqual([
      {
        ...{ namespace: 'shop', application: 'a', status: 'changed' },
        ...{ written: ['x'], removed: ['y'], conflicts: [], messages: [] },
      },
      {
        namespace: 'shop',
        application: 'c',
        status: 'unchanged',
        written: [],
        conflicts: [],
        messages: ['a sentence'],
      },
    ])
    expect(published).toEqual(['to a', 'to c'])
    expect(sent.map(({ subject }) => subject)).toEqual(['a', 'c', 'b'])
  })

  test('a delivery sends nudges in random order', async () => {
    const world = createWorld()
    const random = [0.9, 0.1]
    world.clock.random = () => random.shift() ?? 0
    await world.deliver(outbox([nudge('a'), nudge('b')]))
    expect(world.sent.map(({ subject }) => subject)).toEqual(['b', 'a'])
  })

  test('a delivery sends announcements after nudges', async () => {
    const { deliver, sent } = createWorld()
    await deliver(outbox([nudge('a')], [announcement(1)]))
    expect(sent.map(({ type }) => type)).toEqual([
      'dev.meshstep.relation-changed.v1',
      'dev.meshstep.service-changed.v1',
    ])
  })
})

describe('the note of a delivery', () => {
  const state = stateOf([ENTRY])
  const delivered = ({ notes }: ReturnType<typeof createWorld>) =>
    notes.map(({ change }) => {
      const { relations } = change.fold(
        state,
        () => [],
        (config) => config,
      ).state
      return Object.values(relations)[0]?.peer?.sent
    })

  test('the note of a delivery has what was sent to receivers without a memory, and what was announced', async () => {
    const world = createWorld()
    await world.deliver(outbox([nudge('a', { isRemembered: true })], [announcement(3), announcement(4)]))
    expect(delivered(world)).toEqual(['hash'])
    expect(world.announced).toEqual([[3, 4]])
    expect(world.notes).toMatchObject([
      {
        change: { note: true, observation: true, trace: { traceparent: '00-a-b-01' } },
        deadline: world.clock.now() + 5_000,
      },
    ])
  })

  test('the note of a delivery is left out where nothing has to be remembered', async () => {
    const world = createWorld(({ subject }) => (subject === 'b' ? new Error('no') : undefined))
    await world.deliver(outbox([nudge('a'), nudge('b', { isRemembered: true })]))
    expect(world.notes).toEqual([])
  })

  test('the note of a delivery has announcements that were refused for good, and none whose receiver is away', async () => {
    const refused = createWorld(() => new Error('no'))
    await refused.deliver(outbox([], [announcement(3)]))
    await refused.deliver(outbox([], [announcement(3)]))
    for (const { change } of refused.notes)
      change.fold(
        state,
        () => [],
        (config) => config,
      )
    expect(refused.announced).toEqual([[3], [3]])
    const away = createWorld(() => new Unavailable('away'))
    await expect(away.deliver(outbox([], [announcement(3)]))).rejects.toThrow('away')
    expect(away.notes).toEqual([])
  })

  test('the messages that follow from the note of a delivery are sent as well', async () => {
    const world = createWorld(undefined, outbox([nudge('b')]).due)
    await world.deliver(outbox([], [announcement(3)]))
    expect(world.sent.map(({ subject }) => subject)).toEqual(['shop/web', 'b'])
  })
})

describe('a nudge with data that is on its way', () => {
  /** Two deliveries of one nudge; the first send ends as it is said. */
  const twice = async (first: 'accepted' | 'refused', changes: Partial<Nudge>) => {
    let end: (error?: Error) => void = () => undefined
    const held = new Promise<undefined>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve(undefined))
    })
    let count = 0
    const clock = fakeClock()
    const deliver = createDelivery({
      ...{ features: { announced: (state) => state }, clock, later: (work) => work },
      enqueue: async () => ({ outcome: UNCHANGED, due: EMPTY_OUTBOX }),
      send: async () => {
        count += 1
        return count === 1 ? await held : undefined
      },
    })
    const one = () => deliver(outbox([nudge('a', changes)]), clock.now()).catch(() => undefined)
    const both = [one()]
    await turn()
    both.push(one())
    await turn()
    const meanwhile = count
    end(first === 'refused' ? new Error('no') : undefined)
    await Promise.all(both)
    const last = count
    await one()
    return [meanwhile, last, count]
  }

  test('a nudge with data that is on its way is sent once until it is noted, and again where it failed', async () => {
    expect(await twice('accepted', { isRemembered: true })).toEqual([1, 1, 2])
    expect(await twice('refused', { isRemembered: true })).toEqual([1, 2, 3])
  })

  test('a nudge with data that is on its way stops no other one', async () => {
    expect(await twice('accepted', { isRemembered: false })).toEqual([2, 2, 3])
  })
})
