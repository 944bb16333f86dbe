import { describe, expect, test } from 'vitest'
import { decodePayload } from '../../../src/core/relations/databags/relation-data.ts'
import { commonOf, isLibrary, messages, type Program, understood, written } from './programs.ts'

const programs: readonly (readonly [name: string, program: Program])[] = [
  ['library', 'library'],
  ['old (v0)', [0]],
  ['new (v0, v1)', [0, 1]],
  ['newest (v1)', [1]],
]

const pairs = programs.flatMap(([writing, writer]) =>
  programs.map(([reading, reader]) => ({ pair: `${writing} to ${reading}`, writer, reader })),
)

describe.each(messages)('$name', (message) => {
  const content = message.write(1)
  const meaning = message.read(content)

  test('a message says something', () => {
    expect(meaning).not.toEqual(message.read({}))
    expect(meaning).not.toEqual(message.read(message.write(2)))
  })

  test.each(pairs)('$pair', ({ writer, reader }) => {
    const databag = written(writer, content, {})
    const version = commonOf(writer, reader)
    if (version !== undefined) expect(understood(reader, message, databag)).toEqual(meaning)
    else if (isLibrary(reader)) expect(understood(reader, message, databag)).toEqual(message.read({}))
    if (isLibrary(reader)) return
    expect(decodePayload(databag, reader)).toMatchObject(
      version === undefined ? { incompatible: expect.stringMatching(/v\d here, v\d there/) } : { version },
    )
  })

  test('the flat keys are as the library writes them, for whoever speaks the old form', () => {
    expect(written([0, 1], content, {})).toMatchObject(content)
    expect(written([0], content, {})).toMatchObject(content)
  })
})
