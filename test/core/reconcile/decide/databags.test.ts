import { expect, test } from 'vitest'
import { limitDatabags, publishDatabags } from '../../../../src/core/reconcile/decide/databags.ts'
import { contentHash } from '../../../../src/core/relations/offers/published-version.ts'
import { resolveRelations } from '../../../../src/core/relations/resolve-relations.ts'
import { type RelationEntry, relationKey } from '../../../../src/core/state/relation.ts'
import { emptyState, type State } from '../../../../src/core/state/state.ts'
import { features } from '../../../../src/features.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'
import { SUBJECT } from '../../../helpers/world.ts'

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

test('only what is said is published, and a memory of nothing that is said has no such part', () => {
  const sql = (id: number) => entryOf({ id, endpoint: 'db', interface: 'sql', remote: { application: `db-${id}` } })
  const state = stateOf([sql(1), sql(2)], { config: {} })
  const resolved = resolveRelations(SUBJECT, state, new Map())
  const publish = (content: Parameters<typeof publishDatabags>[1]['content']) =>
    publishDatabags(features, { subject: SUBJECT, resolved, state, content })
  const said = { data: { team: 'a' } }
  expect(Object.entries(publish({ [relationKey(sql(2))]: said }).published ?? {})).toEqual([[contentHash(said), said]])
  expect(publish({})).not.toHaveProperty('published')
})
