import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { proxiedEndpoints } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { found, routingOf } from './routing.ts'

const ORIGIN = 'http://127.0.0.1:3300'

describe('backends of remote write', () => {
  const of = (urls: readonly string[]) => ({ remoteWrite: urls.map((url) => ({ url })) })
  const named = (...urls: string[]) =>
    proxiedEndpoints(routingOf(of(urls))).remote_write_endpoints.map(({ url }) =>
      url.replace(`${ORIGIN}/proxy/remote-write/`, ''),
    )
  const locations = (...urls: string[]) =>
    found('location', of(urls)).flatMap((line) => /remote-write\/(.*)$/.exec(line)?.[1] ?? [])

  test.each([
    ['http://prometheus-0.endpoints:9090/api/v1/write', /^prometheus-0\.[0-9a-f]{12}\/write$/],
    ['http://[fd00::1]/write', /^fd00--1\.[0-9a-f]{12}\/write$/],
  ])('one is named after its host and its URL: %s', (url, name) => {
    expect(named(url)).toEqual([expect.stringMatching(name)])
    expect(named('http://h/write', 'http://h:80/write')).toHaveLength(1)
  })

  test.each([
    ['one ingress', 'http://h/a', 'http://h/b'],
    ['one host', 'http://h:1/a', 'http://h:2/a'],
    ['with and without TLS', 'http://h/a', 'https://h/a'],
    ['hosts with the same first label', 'http://h.x/a', 'http://h.y/a'],
    ['an address and a name like it', 'http://1.2.3.4/a', 'http://1-2-3-4/a'],
  ])('backends of remote write keep their paths when others come and go: %s', (_, one, other) => {
    expect(named(one, other).toSorted()).toEqual([...named(one), ...named(other)].toSorted())
    expect(new Set(named(one, other)).size).toBe(2)
  })

  test('backends of remote write are at the paths of the charm library, too, where only one has the name', () => {
    expect(locations('http://h/a')).toEqual([...named('http://h/a'), 'h/write'])
    expect(locations('http://h/a', 'http://h/b', 'http://z/a')).toEqual([
      ...named('http://h/a', 'http://h/b', 'http://z/a'),
      'z/write',
    ])
  })

  test('backends of remote write have paths that follow from their URLs alone', () => {
    const url = fc
      .tuple(fc.constantFrom('h', 'h.x', 'h-x', '1.2.3.4', '1-2-3-4'), fc.constantFrom('', ':80', ':90'), fc.nat(3))
      .map(([host, port, path]) => `http://${host}${port}/${path}`)
    fc.assert(
      fc.property(fc.array(url, { maxLength: 8 }), (urls) => {
        expect(new Set(named(...urls))).toEqual(new Set(urls.flatMap((one) => named(one))))
      }),
    )
  })
})
