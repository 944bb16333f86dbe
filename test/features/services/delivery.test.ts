import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Announcement } from '../../../src/core/feature/feature.ts'
import type { Databag } from '../../../src/core/state/relation.ts'
import { markAccepted } from '../../../src/features/services/announced.ts'
import { runs } from '../../helpers/runs.ts'
import { folded, type Memory, nothing, settled, toSend } from './application.ts'
import { FLAT, offeredBy } from './relations.ts'

/** A process took one event: it folded it in, sent some of what there was to send, and ended there, or came to the end of its step. */
type Run = {
  id: number
  data: Databag | undefined
  now: number
  /** How many it sent before it crashed. */
  sends: number | 'all'
  /** A process that was slower than the next ones: what it sends arrives, and is accepted, after that many of them. */
  lateBy: number
}

const data = fc.constantFrom<(Databag | undefined)[]>(
  FLAT,
  { ...FLAT, 'service-port': '5433' },
  { ...FLAT, 'service-port': 'unreadable' },
  {},
  undefined,
)

const anyRuns = (sends: fc.Arbitrary<Run['sends']>, lateBy: fc.Arbitrary<number>): fc.Arbitrary<Run[]> =>
  fc.array(fc.record({ id: fc.constantFrom(7, 8), data, now: fc.nat(20), sends, lateBy }), { maxLength: 20 })

type World = {
  memory: Memory
  sink: Announcement[]
  late: { batch: Announcement[]; isWhole: boolean; dueIn: number }[]
}

const taken = ({ memory, sink, late }: World, { id, data: databag, now, sends, lateBy }: Run): World => {
  const after = folded(memory, { [id]: databag }, now)
  const isWhole = sends === 'all'
  const batch = isWhole ? toSend(after) : toSend(after).slice(0, sends)
  const queue = [...late.map((one) => ({ ...one, dueIn: one.dueIn - 1 })), { batch, isWhole, dueIn: lateBy }]
  return delivered({ memory: after, sink, late: queue })
}

const delivered = ({ memory, sink, late }: World): World => {
  const due = late.filter(({ dueIn }) => dueIn <= 0)
  const known = due.filter(({ isWhole }) => isWhole).flatMap(({ batch }) => batch.map(({ number }) => number))
  return {
    memory: { ...memory, announced: markAccepted(memory.announced, known) },
    sink: [...sink, ...due.flatMap(({ batch }) => batch)],
    late: late.filter(({ dueIn }) => dueIn > 0),
  }
}

/** At the end a step runs to its end, and what was late has come. */
const atRest = (run: readonly Run[]): World => {
  const { memory, sink, late } = run.reduce(taken, { memory: nothing, sink: [], late: [] })
  const last = delivered({ memory, sink, late: late.map((one) => ({ ...one, dueIn: 0 })) })
  return { memory: settled(last.memory), sink: [...last.sink, ...toSend(last.memory)], late: [] }
}

/** What somebody believes who drops repeats by their id, and takes what is later by its sequence. */
const believed = (sink: readonly Announcement[]): unknown[] => {
  const byId = new Map(sink.map(({ event }) => [event.id, event]))
  const inOrder = [...byId.values()].toSorted((one, other) => sequenceOf(one) - sequenceOf(other))
  const services = new Map<string | undefined, unknown>()
  for (const { id, data: said } of inOrder) services.set(id.split('/')[2], (said as { service?: unknown }).service)
  return [...services].toSorted(([one], [other]) => Number(one) - Number(other)).flatMap(([, service]) => service ?? [])
}

const sequenceOf = (event: Announcement['event']): number => Number(event.extensions.sequence)

const sends = fc.oneof(fc.constant('all' as const), fc.nat(2))

test('however processes crash, repeat and overtake each other, what is believed in the end is what is offered', () => {
  fc.assert(
    fc.property(anyRuns(sends, fc.nat(4)), (run) => {
      const { memory, sink } = atRest(run)
      expect(believed(sink)).toEqual(offeredBy(memory.relations, memory.announced).services)
      expect(toSend(memory)).toEqual([])
    }),
    { numRuns: runs(3000) },
  )
})

test('one id is one event', () => {
  fc.assert(
    fc.property(anyRuns(sends, fc.nat(4)), (run) => {
      const { sink } = atRest(run)
      const byId = new Map(sink.map(({ event }) => [event.id, event]))
      for (const { event } of sink) expect(event).toEqual(byId.get(event.id))
      expect(new Set([...byId.values()].map(sequenceOf)).size).toBe(byId.size)
    }),
  )
})

test('without a crash each change is announced once, and nothing else is', () => {
  fc.assert(
    fc.property(anyRuns(fc.constant('all'), fc.constant(0)), (run) => {
      let memory = nothing
      let changes = 0
      for (const { id, data: databag } of run) {
        const offeredIn = (one: Memory) => JSON.stringify(offeredBy(one.relations, one.announced).services)
        const after = settled(folded(memory, { [id]: databag }))
        if (offeredIn(after) !== offeredIn(memory)) changes += 1
        memory = after
      }
      expect(atRest(run).sink).toHaveLength(changes)
    }),
  )
})

test('who hears of available and unavailable alone knows in the end which relations offer something', () => {
  fc.assert(
    fc.property(anyRuns(sends, fc.nat(4)), (run) => {
      const { memory, sink } = atRest(run)
      const heard = sink.filter(({ event }) => !event.type.endsWith('service-changed.v1'))
      const relations = (services: unknown[]) => services.map((service) => (service as { relation: number }).relation)
      const { services } = offeredBy(memory.relations, memory.announced)
      expect(relations(believed(heard))).toEqual(relations([...services]))
    }),
  )
})
