import { expect, test } from 'vitest'
import { lastReadableValues } from '../../../src/core/relations/databags/last-readable.ts'
import { readData } from '../../../src/core/relations/databags/relation-data.ts'
import type { Databag, Relation } from '../../../src/core/state/relation.ts'
import { TOLD } from '../../helpers/relations.ts'

const relation = (data: Databag, changes: Partial<Relation> = {}): Relation => ({
  id: 7,
  endpoint: 'service-mesh',
  interface: 'service_mesh',
  ...{ role: 'provides', ...TOLD },
  remote: { application: 'db', data },
  ...changes,
})

const GOOD = { policies: '[]' }
const BAD = { policies: '[{' }
const identity = { interface: 'cross_model_mesh' }
const NAMED = { cmr_data: { app_name: 'web', juju_model_name: 'clients' } }

test.each<[string, Relation | undefined, Relation, Databag | undefined]>([
  ['nothing of a relation that is new', undefined, relation(BAD), undefined],
  ['nothing while it can be read', relation({ policies: '[1]' }), relation(GOOD), undefined],
  ['nothing of what is not said any more', relation(GOOD), relation({}), undefined],
  ['nothing of what could not be read before either', relation(BAD), relation(BAD), undefined],
  [
    'nothing of an interface that is not the mesh’s',
    relation(GOOD, { interface: 'http' }),
    relation(BAD, { interface: 'http' }),
    undefined,
  ],
  [
    'nothing of keys whose loss takes nothing away',
    relation({ ...GOOD, other: '{}' }),
    relation({ ...GOOD, other: '{' }),
    undefined,
  ],
  ['the last policies that could be read', relation(GOOD), relation(BAD), GOOD],
  [
    'the last policies, however often they cannot be read',
    relation(BAD, { lastReadable: GOOD }),
    relation({ policies: 7 }),
    GOOD,
  ],
  ['the last policies, of which some were wrong', relation({ policies: [7] }), relation(BAD), { policies: [7] }],
  [
    'nothing once it can be read again',
    relation(BAD, { lastReadable: GOOD }),
    relation({ policies: '[1]' }),
    undefined,
  ],
  ['nothing once it says nothing', relation(BAD, { lastReadable: GOOD }), relation({}), undefined],
  ['the last name', relation(NAMED, identity), relation({ cmr_data: 'x' }, identity), NAMED],
])('a databag that changes keeps %s', (_, known, changed, lastReadable) => {
  expect(lastReadableValues(known, changed, undefined)).toEqual(lastReadable)
})

const HELD_BACK = { service_mesh: [1 as const] }

test('a memory keeps all that a databag said when its version is not spoken any more, and nothing once it is again', () => {
  const told = relation(GOOD)
  const lastReadable = { ...GOOD }
  expect(lastReadableValues(told, told, HELD_BACK, {})).toEqual(lastReadable)
  expect(lastReadableValues({ ...told, lastReadable }, told, HELD_BACK)).toEqual(lastReadable)
  expect(lastReadableValues({ ...told, lastReadable }, told, {}, HELD_BACK)).toBeUndefined()
})

test.each<[string, Databag, Databag | undefined, Databag]>([
  ['a platform, of an application that does not speak for itself', GOOD, undefined, GOOD],
  ['the application itself, rather than a platform', { policies: '[1]' }, GOOD, GOOD],
  ['the application itself, also where that cannot be read', GOOD, BAD, BAD],
  ['a platform, of policies that the application never asked for', GOOD, { labels: '{}' }, { labels: '{}', ...GOOD }],
])('the data are those of %s', (_, platform, said, data) => {
  expect(readData('service_mesh', platform, said)).toMatchObject({ data })
})
