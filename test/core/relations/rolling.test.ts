import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { negotiate } from '../../../src/core/relations/databags/protocol-versions.ts'
import type { Databag } from '../../../src/core/state/relation.ts'
import { commonOf, isLibrary, type Message, messages, type Program, spokenBy, understood, written } from './programs.ts'

/** One side of a relation; both say the same message here. What it runs, what it has published, and what the other side has of that so far. */
type Side = { program: Program; revision: number; published: Databag; writer: Program; delivered: Databag; seen: Seen }

/** What was delivered last: by what it was written, and which revision of the content it is. */
type Seen = { writer: Program; revision: number }

type Action =
  | { is: 'changes to'; side: 0 | 1; program: Program }
  | { is: 'says something else'; side: 0 | 1 }
  | { is: 'is delivered'; side: 0 | 1 }

const side = fc.constantFrom(0 as const, 1 as const)

const actionsWith = (programs: readonly Program[]): fc.Arbitrary<Action[]> =>
  fc.array(
    fc.oneof(
      fc.record({ is: fc.constant('changes to' as const), side, program: fc.constantFrom(...programs) }),
      fc.record({ is: fc.constant('says something else' as const), side }),
      fc.record({ is: fc.constant('is delivered' as const), side }),
    ),
    { maxLength: 30 },
  )

const published = (message: Message, before: Side, changes: Partial<Side>): Side => {
  const after = { ...before, ...changes }
  const databag = written(after.program, message.write(after.revision), before.published)
  return { ...after, published: databag, writer: after.program }
}

const acted = (message: Message, before: Side, action: Action): Side => {
  if (action.is === 'changes to') return published(message, before, { program: action.program })
  if (action.is === 'says something else') return published(message, before, { revision: before.revision + 1 })
  return delivered(before)
}

const delivered = (before: Side): Side => ({
  ...before,
  delivered: before.published,
  seen: { writer: before.writer, revision: before.revision },
})

const begun = (message: Message, program: Program): Side => {
  const nothing = {
    program,
    revision: 0,
    published: {},
    writer: program,
    delivered: {},
    seen: { writer: program, revision: 0 },
  }
  return delivered(published(message, nothing, {}))
}

/** What the program of `reader` makes of the databag of `writer` that it has. */
const look = (message: Message, reader: Side, writer: Side): unknown =>
  understood(reader.program, message, writer.delivered)

const OLD_AND_NEW: readonly Program[] = ['library', [0], [0, 1]]
const ALL: readonly Program[] = [...OLD_AND_NEW, [1]]

describe.each(messages)('$name', (message) => {
  const meaning = (revision: number) => message.read(message.write(revision))

  const run = (
    first: readonly [Program, Program],
    actions: readonly Action[],
    check: (sides: [Side, Side]) => void,
  ) => {
    let sides: [Side, Side] = [begun(message, first[0]), begun(message, first[1])]
    check(sides)
    for (const action of actions) {
      const [one, other] = sides
      sides = action.side === 0 ? [acted(message, one, action), other] : [one, acted(message, other, action)]
      check(sides)
    }
    const [one, other] = sides
    return [delivered(one), delivered(other)] as const
  }

  const both =
    (check: (reader: Side, writer: Side) => void) =>
    ([one, other]: readonly [Side, Side]) => {
      check(one, other)
      check(other, one)
    }

  test('while both go back and forth between old and new, what was delivered last is always there', () => {
    const program = fc.constantFrom(...OLD_AND_NEW)
    const isThere = both((reader, writer) =>
      expect(look(message, reader, writer)).toEqual(meaning(writer.seen.revision)),
    )
    fc.assert(
      fc.property(fc.tuple(program, program), actionsWith(OLD_AND_NEW), (first, actions) => {
        isThere(run(first, actions, isThere))
      }),
    )
  })

  test('with versions given up, it is there while there is a version in common, and in the end both agree', () => {
    const program = fc.constantFrom(...ALL)
    const isThere = both((reader, writer) => {
      const version = commonOf(reader.program, writer.seen.writer)
      if (version !== undefined) expect(look(message, reader, writer)).toEqual(meaning(writer.seen.revision))
    })
    fc.assert(
      fc.property(fc.tuple(program, program), actionsWith(ALL), (first, actions) => {
        const [one, other] = run(first, actions, isThere)
        isThere([one, other])
        if (isLibrary(one.program) || isLibrary(other.program)) return
        const here = negotiate(one.program, other.delivered)
        const there = negotiate(other.program, one.delivered)
        expect('version' in here ? here : undefined).toEqual('version' in there ? there : undefined)
        expect('version' in here && here.version).toBe(commonOf(one.program, other.program) ?? false)
      }),
    )
  })
})

test('the programs of these tests differ', () => {
  expect(ALL.map(spokenBy)).toEqual([[0], [0], [0, 1], [1]])
})
