import { describe, expect, test } from 'vitest'
import { isLess, tooManyBytes, withDataOf, withRoomFor } from '../../../../src/core/reconcile/fold/room.ts'
import type { Document } from '../../../../src/core/relations/told/documents.ts'
import { FULL_BYTES, type Memory, measureContent } from '../../../../src/core/state/memory.ts'
import { type RelationEntry, relationKey } from '../../../../src/core/state/relation.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { features } from '../../../../src/features.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'
import { SUBJECT } from '../../../helpers/world.ts'

const SINCE = '2026-01-01T00:00:00.000Z'

/** A state of a size in bytes. */
const sized = (bytes: number, changes: Partial<State> = {}): State => {
  const fill = (length: number) => stateOf([], { ...changes, settings: { fill: 'x'.repeat(length) } })
  return fill(bytes - measureContent({ state: fill(0), labels: {} }))
}

const memoryOf = (state: State): Memory => ({ state, labels: {}, stored: undefined })

test('a state is too large if it is over the limit, and larger than before', () => {
  const bytes = (before: number, after: number) => tooManyBytes(memoryOf(sized(before)), sized(before), sized(after))
  expect(bytes(FULL_BYTES - 9, FULL_BYTES)).toBe(0)
  expect(bytes(FULL_BYTES - 9, FULL_BYTES + 1)).toBe(FULL_BYTES + 1)
  expect(bytes(FULL_BYTES + 9, FULL_BYTES + 9)).toBe(0)
  expect(bytes(FULL_BYTES + 9, FULL_BYTES + 10)).toBe(FULL_BYTES + 10)
  const state = sized(FULL_BYTES + 9)
  expect(tooManyBytes(memoryOf(sized(1_000)), state, state)).toBe(0)
})

const ENDED = entryOf({ status: 'ended' })
const OTHER = entryOf({ id: 2 })
const THIRD = entryOf({ id: 3 })

test.each<[string, State, State, boolean]>([
  ['in which a relation ended', stateOf([entryOf(), OTHER]), stateOf([ENDED, OTHER]), true],
  ['in which a relation ended, and another began', stateOf([entryOf()]), stateOf([ENDED, OTHER]), false],
  ['in which two relations ended, and another began', stateOf([entryOf(), OTHER]), stateOf([ENDED, THIRD]), false],
  [
    'in which the application was removed, and a relation began',
    stateOf([]),
    stateOf([THIRD], { removed: SINCE }),
    false,
  ],
  ['in which nothing ended', stateOf([entryOf()]), stateOf([entryOf()]), false],
  ['in which a relation began', stateOf([]), stateOf([entryOf()]), false],
  ['in which the application was removed', stateOf([OTHER]), stateOf([OTHER], { removed: SINCE }), true],
  ['in which it was removed before', stateOf([], { removed: SINCE }), stateOf([], { removed: SINCE }), false],
])('a state %s makes room: %#', (_, before, after, isMaking) => {
  expect(isLess(before, after)).toBe(isMaking)
})

describe('a change without the databags that do not fit', () => {
  const told = (data: Record<string, unknown> | undefined, changes: Partial<RelationEntry> = {}) =>
    entryOf({ remote: { application: 'beacon', ...(data && { data }) }, ...changes })
  const of = (before: RelationEntry[], after: RelationEntry[]) => {
    const { state, refused } = withDataOf(stateOf(before), stateOf(after))
    return [state.relations[relationKey(entryOf())], refused]
  }
  const NAME = 'relation 1 (service-mesh) with beacon'

  test('a change without the databags that do not fit has those of before, and the rest of the change', () => {
    expect(of([told({ a: 'b' })], [told({ a: 'c' }, { status: 'ended' })])).toEqual([
      told({ a: 'b' }, { status: 'ended' }),
      [NAME],
    ])
    const units = { 'beacon/0': { a: 'b' } }
    expect(of([told(undefined)], [entryOf({ remote: { application: 'beacon', units } })])).toEqual([
      told(undefined),
      [NAME],
    ])
  })

  test('a change without the databags that do not fit keeps the last readable values of before', () => {
    const [own, before] = [{ lastReadable: { labels: '1' } }, { lastReadable: { labels: '2' } }]
    expect(of([told({ a: 'b' }, before)], [told({ a: 'c' }, own)])).toEqual([told({ a: 'b' }, before), [NAME]])
    expect(of([told({ a: 'b' })], [told({ a: 'c' }, own)])).toEqual([told({ a: 'b' }), [NAME]])
  })

  test('a change without the databags that do not fit leaves the relations whose databags are as before', () => {
    expect(of([told({ a: 'b' })], [told({ a: 'b' }, { status: 'ended' })])).toEqual([
      told({ a: 'b' }, { status: 'ended' }),
      [],
    ])
    expect(of([], [told(undefined)])).toEqual([told(undefined), []])
    expect(of([], [told({ a: 'b' })])).toEqual([told(undefined), [NAME]])
  })
})

describe('documents that do not all fit', () => {
  const config = features.config.parse({})
  const document = (name: string, application = 'web'): Document => ({ name, application, config })
  const sizes: Readonly<Record<string, number>> = { small: 1_000, large: FULL_BYTES, other: 5 }
  /** Each readable document of the application takes as many bytes as its name says. */
  const reading = (found: readonly Document[]): State => {
    const own = found.filter((one) => one.application === 'web' && !('problem' in one))
    return sized(1_000 + own.reduce((sum, { name }) => sum + (sizes[name] ?? 0), 0))
  }
  const read = (...found: Document[]) => {
    const { found: kept, unread, state } = withRoomFor(memoryOf(sized(1_000)), SUBJECT, found, reading)
    return {
      kept: kept.flatMap((one) => ('problem' in one ? [] : [one.name])),
      unread: unread.map(({ name }) => name),
      problems: unread.map(({ problem }) => problem),
      bytes: measureContent({ state, labels: {} }),
    }
  }

  test('documents that fit are all read', () => {
    expect(read(document('small'), document('other'))).toMatchObject({
      kept: ['small', 'other'],
      unread: [],
      bytes: 2_005,
    })
  })

  test('documents that do not all fit are read in order, as far as they fit', () => {
    const { problems, ...rest } = read(document('large'), document('small'), document('other'))
    expect(rest).toEqual({ kept: ['small', 'other'], unread: ['large'], bytes: 2_005 })
    expect(problems).toEqual([
      expect.stringMatching(
        /^ConfigMap shop\/large: the memory of web would have \d+ bytes.*; what it said before stays$/,
      ),
    ])
  })

  test('documents that do not all fit leave those of other applications, and unreadable ones, as they are', () => {
    const unreadable: Document = { name: 'broken', application: 'web', problem: 'no' }
    const { found } = withRoomFor(
      memoryOf(sized(1_000)),
      SUBJECT,
      [document('large'), document('large', 'db'), unreadable],
      reading,
    )
    expect(found).toEqual([{ name: 'large', application: 'web', problem: '' }, document('large', 'db'), unreadable])
  })

  test('a memory that is full already takes no document of its own away', () => {
    const { unread } = withRoomFor(memoryOf(sized(1_000)), SUBJECT, [document('large', 'db')], () =>
      sized(FULL_BYTES + 9),
    )
    expect(unread).toEqual([])
  })
})
