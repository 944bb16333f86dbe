import { describe, expect, test } from 'vitest'
import { publishedKey, relationKey } from '../../src/relations/key.ts'
import { emptyState, type Relation, type State } from '../../src/state.ts'

const relation = (id: number, application: string, changes: Partial<Relation> = {}, namespace?: string): Relation => ({
  id,
  endpoint: 'service-mesh',
  interface: 'service_mesh',
  role: 'provides',
  remote: { application, data: {}, ...(namespace && { namespace }) },
  ...changes,
})

const stateWith = (relations: Record<string, Relation>): State => ({ ...emptyState(), relations })

const named = (id: number) => ({ id, interface: 'service_mesh', role: 'provides' as const })
const db = { application: 'db', namespace: 'shop' }
const bankDb = { application: 'db', namespace: 'bank' }

describe('the key of a relation that a platform or a document tells of', () => {
  test.each<[string, Record<string, Relation>, string]>([
    ['is its id', {}, '7'],
    ['is its id, beside another relation with the same application', { 3: relation(3, 'db') }, '7'],
    ['is its id, though another application has told of that', { 'shop/web/7': relation(7, 'web') }, '7'],
    ['is where the remote application has told of it already', { 'shop/db/7': relation(7, 'db') }, 'shop/db/7'],
    [
      'is its id, where another namespace has an application of that name',
      { 'bank/db/7': relation(7, 'db', {}, 'bank') },
      '7',
    ],
  ])('%s', (_, relations, key) => {
    expect(relationKey('shop', stateWith(relations), named(7), { remote: db, isPublished: false })).toBe(key)
  })
})

describe('the key of a relation that the remote application tells of', () => {
  test.each<[string, Record<string, Relation>, typeof db, string]>([
    ['is of its own where nobody else told of it', {}, db, 'shop/db/7'],
    ['is of its own where another application has that id', { 7: relation(7, 'web') }, db, 'shop/db/7'],
    [
      'is of its own where another namespace has an application of that name',
      { 7: relation(7, 'db') },
      bankDb,
      'bank/db/7',
    ],
    ['is the id that both sides have', { 3: relation(3, 'db'), 7: relation(7, 'db') }, db, '7'],
    [
      'is the only one of its kind with that application, whose id is another',
      { 3: relation(3, 'db', {}, 'bank') },
      bankDb,
      '3',
    ],
    ['is of its own where two could be meant', { 3: relation(3, 'db'), 4: relation(4, 'db') }, db, 'shop/db/7'],
    [
      'is of its own where that is of another interface',
      { 3: relation(3, 'db', { interface: 'http' }) },
      db,
      'shop/db/7',
    ],
    ['is of its own where that is of the other side', { 3: relation(3, 'db', { role: 'requires' }) }, db, 'shop/db/7'],
  ])('%s', (_, relations, remote, key) => {
    expect(relationKey('shop', stateWith(relations), named(7), { remote, isPublished: true })).toBe(key)
  })

  test('names the namespace in any case', () => {
    expect(publishedKey('shop', { id: 7 }, { application: 'db' })).toBe('shop/db/7')
  })
})
