import { expect, test } from 'vitest'
import { limitDatabags } from '../../../../src/core/reconcile/decide/databags.ts'
import { contentHash } from '../../../../src/core/relations/offers/published-version.ts'
import { type RelationEntry, relationKey } from '../../../../src/core/state/relation.ts'
import { emptyState, type State } from '../../../../src/core/state/state.ts'

const KIB = 1024

/** A state whose relations 1, 2, … publish data of so many KiB. */
const publishing = (sizes: readonly number[]): State => {
  const all = sizes.map((size, index) => {
    const data = { data: { text: String(index).repeat(size * KIB) } }
    const digest = contentHash(data)
    const entry: RelationEntry = {
      ...{ id: index + 1, endpoint: 'use', interface: 'http', role: 'provides', remote: { application: 'web' } },
      ...{ status: 'established', position: { at: 1 }, published: { digest } },
    }
    return { digest, data, entry }
  })
  return {
    ...emptyState(),
    published: Object.fromEntries(all.map(({ digest, data }) => [digest, data])),
    relations: Object.fromEntries(all.map(({ entry }) => [relationKey(entry), entry])),
  }
}

const sizesOf = ({ published = {}, relations }: State): number[] =>
  Object.values(relations).map((entry) => (published[entry.published?.digest ?? '']?.data.text ?? '').length / KIB)

test.each([
  ['all are said anew where they fit', [1, 1, 1], [2, 2, 2], [2, 2, 2]],
  ['what makes room is said before what needs it', [100, 700, 1], [700, 100, 900], [700, 100, 1]],
  ['of two that grow the one is said that there is room for', [1, 1, 1], [900, 800, 2], [1, 800, 2]],
])('of what relations publish %s', (_, before, said, expected) => {
  const state = publishing(before)
  const limited = limitDatabags({ state, labels: {}, stored: undefined }, state, publishing(said))
  expect(sizesOf(limited.state)).toEqual(expected)
  expect(limited.noRoom).toHaveLength(expected.filter((size, index) => size !== said[index]).length)
})
