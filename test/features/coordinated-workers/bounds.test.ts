import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bounded, MOST_BYTES, routeBytes } from '../../../src/features/coordinated-workers/bounds.ts'
import { nginxConfiguration } from '../../../src/features/coordinated-workers/nginx/routing.ts'
import { routingOf } from './nginx/routing.ts'

const share = (relation: string, ...items: number[]) => ({ relation, items })
const KIB = 1024
const sized = (shares: { relation: string; items: number[] }[], most?: number) => bounded(shares, (size) => size, most)

describe('what there is room for', () => {
  test('what there is room for is all of it, mostly', () => {
    expect(sized([share('a', 1, 2), share('b', 3)])).toEqual({ items: [1, 2, 3], problems: [] })
  })

  test('what there is room for is not a relation that takes too much for itself', () => {
    expect(sized([share('a', 100 * KIB, 100 * KIB), share('b', 3)])).toEqual({
      items: [3],
      problems: [
        'a: not routed: its 2 addresses take up to 204800 bytes of nginx.conf, and one relation has room for 196608; publish fewer or shorter ones',
      ],
    })
  })

  test('what there is room for are not the relations that take most of too much', () => {
    expect(sized([share('a', 5), share('b', 4), share('c', 3)], 8)).toEqual({
      items: [4, 3],
      problems: [
        'a: not routed: it takes 5 bytes, and all relations together exceed the 8 bytes that nginx.conf has room for',
      ],
    })
  })

  test('never exceeds the room', () => {
    const shares = fc.array(fc.array(fc.nat(60 * KIB), { maxLength: 5 }), { maxLength: 8 })
    fc.assert(
      fc.property(shares, (sizes) => {
        const { items } = sized(sizes.map((some, index) => share(`${index}`, ...some)))
        expect(items.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MOST_BYTES.backends)
      }),
    )
  })
})

test.each(['http://h/', `http://h/${'$'.repeat(300)}`, `http://h/${"'(".repeat(700)}`])(
  'a route takes no more bytes of the file than are reserved for it: %s',
  (url) => {
    const bytes = (urls: string[]) =>
      Buffer.byteLength(nginxConfiguration(routingOf({ remoteWrite: urls.map((one) => ({ url: one })) })).text)
    expect(bytes([url]) - bytes([])).toBeLessThanOrEqual(routeBytes(url))
  },
)
