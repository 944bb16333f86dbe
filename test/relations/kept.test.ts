import { expect, test } from 'vitest'
import { withKept } from '../../src/relations/kept.ts'
import type { Databag, Relation } from '../../src/state.ts'

const relation = (data: Databag, changes: Partial<Relation> = {}): Relation => ({
  id: 7,
  endpoint: 'service-mesh',
  interface: 'service_mesh',
  role: 'provides',
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
    relation(BAD, { kept: GOOD }),
    relation({ policies: 7 }),
    GOOD,
  ],
  ['the last policies, of which some were wrong', relation({ policies: [7] }), relation(BAD), { policies: [7] }],
  ['nothing once it can be read again', relation(BAD, { kept: GOOD }), relation({ policies: '[1]' }), undefined],
  ['nothing once it says nothing', relation(BAD, { kept: GOOD }), relation({}), undefined],
  ['the last name', relation(NAMED, identity), relation({ cmr_data: 'x' }, identity), NAMED],
  [
    'what the remote application published itself, rather than what others said of it',
    relation({ policies: '[1]' }, { published: { data: GOOD, hash: 'h', asked: true } }),
    relation({ policies: '[1]' }, { published: { data: BAD, hash: 'i', asked: true } }),
    GOOD,
  ],
])('keeps %s', (_, known, changed, kept) => {
  expect(withKept(known, changed, undefined)).toEqual(kept === undefined ? { ...changed } : { ...changed, kept })
})
