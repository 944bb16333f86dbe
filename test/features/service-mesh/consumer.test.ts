import { expect, test } from 'vitest'
import type { Policy } from '../../../src/core/policies/models.ts'
import type { Relation } from '../../../src/core/state/relation.ts'
import { emptyState } from '../../../src/core/state/state.ts'
import { consumerPolicies } from '../../../src/features/service-mesh/consumer.ts'
import { TOLD } from '../../helpers/relations.ts'

const SUBJECT = { namespace: 'shop', application: 'db' }
const DB: Policy = { type: 'app', relation: 'db', endpoints: [] }

const relation = (
  id: number,
  endpoint: string,
  remote: Partial<Relation['remote']>,
  changes: Partial<Relation> = {},
) => ({
  id,
  endpoint,
  interface: 'sql',
  ...{ role: 'provides' as const, ...TOLD },
  remote: { application: 'alias', data: {}, ...remote },
  ...changes,
})

const identity = (id: number, application: string, model: string, remote: Partial<Relation['remote']> = {}) =>
  relation(
    id,
    'provide-cmr-mesh',
    { data: { cmr_data: { app_name: application, juju_model_name: model } }, ...remote },
    { interface: 'cross_model_mesh' },
  )

const ask = (relations: readonly Relation[], policies: readonly Policy[] = [DB]) => {
  const state = { ...emptyState(), relations: Object.fromEntries(relations.map((one) => [String(one.id), one])) }
  const { requested, waiting, messages } = consumerPolicies(SUBJECT, state, policies)
  const sources = requested.map(({ policy }) => `${policy.source_namespace}/${policy.source_app_name}`)
  return { sources, waiting: waiting.length, messages: messages.length }
}

test.each<[string, readonly Relation[], Partial<ReturnType<typeof ask>>]>([
  ['another model whose name is not known', [relation(3, 'db', { namespace: 'a' })], { waiting: 1 }],
  [
    'another model, by the relation that would name it',
    [relation(3, 'db', {}), relation(9, 'x', {}, { interface: 'cross_model_mesh' })],
    { waiting: 1 },
  ],
  [
    'two of one alias in two models, as long as nobody says in which it is',
    [relation(3, 'db', {}), identity(8, 'web', 'a'), identity(9, 'web', 'b')],
    { waiting: 1 },
  ],
  [
    'one of another namespace, by the name that one of a third says',
    [relation(3, 'db', { namespace: 'b' }), identity(9, 'web', 'b', { namespace: 'a' })],
    { waiting: 1 },
  ],
  ['a name that is no name', [relation(3, 'db', {}), identity(9, '*', 'a')], { messages: 1 }],
  ['a model that is none', [relation(3, 'db', {}), identity(9, 'web', 'A/b')], { messages: 1 }],
  [
    'a name that another application has told',
    [relation(3, 'db', { application: 'other', namespace: 'a' }), identity(9, 'web', 'a')],
    { waiting: 1 },
  ],
])('nobody is let in for %s', (_, relations, expected) => {
  expect(ask(relations)).toEqual({ sources: [], waiting: 0, messages: 0, ...expected })
})

test.each<[string, readonly Relation[], string[]]>([
  ['an application of the own model', [relation(3, 'db', {})], ['shop/alias']],
  ['one of another model, by its name there', [relation(3, 'db', {}), identity(9, 'web', 'a')], ['a/web']],
  [
    'two of one alias in two models, each by its own name',
    [
      ...[relation(3, 'db', { namespace: 'a' }), relation(4, 'db', { namespace: 'b' })],
      ...[identity(8, 'web', 'a', {}), identity(9, 'cart', 'b', {})],
    ],
    ['a/web', 'b/cart'],
  ],
  [
    'a local one, beside one of another namespace that is told to have the same name there',
    [relation(3, 'db', {}), identity(9, 'web', 'a', { namespace: 'a' })],
    ['shop/alias'],
  ],
  [
    'one of another namespace, by what is told with its namespace before what an alias says',
    [relation(3, 'db', { namespace: 'a' }), identity(8, 'web', 'a', { namespace: 'a' }), identity(9, 'evil', 'a')],
    ['a/web'],
  ],
])('a consumer is let in: %s', (_, relations, sources) => {
  expect(ask(relations)).toEqual({ sources, waiting: 0, messages: 0 })
})

test('what cannot be read is said only where a policy could need it', () => {
  const bad = identity(9, '', 'a')
  expect(ask([bad]).messages).toBe(1)
  expect(ask([bad], []).messages).toBe(0)
})
