import { expect, test } from 'vitest'
import { type AccessNow, classify } from '../../../src/ask/traffic/classify.ts'
import type { Flow } from '../../../src/ask/traffic/flows.ts'
import type { Related } from '../../../src/ask/views/graph.ts'

const flow = (of: Partial<Flow> = {}): Flow => ({
  ...{ from: 'shop/web', to: 'shop/db', protocol: 'http', requests: 5, refused: 0 },
  ...of,
})
const related = (from: string, to: string, id = 3): Related => ({ from, to, id, label: 'use', interface: 'http' })
const classesOf = (flows: readonly Flow[], relations: readonly Related[], access: AccessNow) =>
  classify(flows, 'shop', { related: relations, access: () => access }).map((one) => [
    one.class,
    one.relations.map(({ id }) => id),
  ])

const WEB_DB = related('shop/web', 'shop/db')
const DB_WEB = related('shop/db', 'shop/web')

test.each<[string, Partial<Flow>, Related[], AccessNow, string, number[]]>([
  ['a relation and policies stand for it', {}, [WEB_DB], 'allowed', 'allowed and used', [3]],
  ['a relation stands, and no policy restricts the target', {}, [WEB_DB], 'open', 'allowed and used', [3]],
  ['a relation stands, and access is not decided', {}, [WEB_DB], 'unknown', 'allowed and used', [3]],
  ['a relation stands that grants nothing', {}, [WEB_DB], 'none', 'used without a relation', [3]],
  ['a relation the other way grants it', {}, [DB_WEB], 'allowed', 'allowed and used', [3]],
  ['relations both ways', {}, [related('shop/db', 'shop/web', 4), WEB_DB], 'allowed', 'allowed and used', [3]],
  ['a relation the other way, and no policy', {}, [DB_WEB], 'open', 'used without a relation', []],
  ['no relation, and no policy', {}, [], 'open', 'used without a relation', []],
  ['no relation, and a policy of another author', {}, [], 'allowed', 'used without a relation', []],
  ['an unknown client', { from: 'unknown' }, [WEB_DB], 'none', 'used without a relation', []],
  ['units of one application', { from: 'shop/db' }, [], 'allowed', 'allowed and used', []],
  ['all of it is refused', { refused: 5 }, [WEB_DB], 'allowed', 'refused', [3]],
  ['some of it is refused', { refused: 4 }, [WEB_DB], 'allowed', 'allowed and used', [3]],
])('%s', (_, of, relations, access, expected, ids) => {
  expect(classesOf([flow(of)], relations, access)[0]).toEqual([expected, ids])
})

test.each<[string, AccessNow, unknown[]]>([
  ['grants access', 'allowed', [['allowed and silent', [3]]]],
  ['grants nothing', 'none', []],
  ['leads to a target that is open to all', 'open', []],
])('a relation that %s, where nothing was seen', (_, access, expected) => {
  expect(
    classify([], 'shop', { related: [WEB_DB], access: (from) => (from === 'shop/web' ? access : 'none') }).map(
      (one) => [one.class, one.relations.map(({ id }) => id)],
    ),
  ).toEqual(expected)
})

test('a relation to another namespace is not silent here', () => {
  expect(classesOf([], [related('shop/web', 'pay/db')], 'allowed')).toEqual([
    // what pay/db may send back is looked at, as its target is here
    ['allowed and silent', [3]],
  ])
  expect(classesOf([], [related('pay/web', 'pay/db')], 'allowed')).toEqual([])
})

test('the worst class and the largest amount come first', () => {
  const flows = [
    flow({ requests: 7 }),
    flow({ from: 'shop/a' }),
    flow({ from: 'shop/b', requests: 9 }),
    flow({ from: 'shop/c', refused: 5 }),
  ]
  const sorted = classify(flows, 'shop', {
    related: [WEB_DB, related('shop/d', 'shop/db', 4)],
    access: () => 'allowed',
  })
  expect(sorted.filter(({ to }) => to === 'shop/db').map((one) => [one.from, one.class])).toEqual([
    ['shop/c', 'refused'],
    ['shop/b', 'used without a relation'],
    ['shop/a', 'used without a relation'],
    ['shop/web', 'allowed and used'],
    ['shop/d', 'allowed and silent'],
  ])
})
