import { describe, expect, test } from 'vitest'
import { proxiedEndpoints } from '../../../src/cluster/telemetry/routing.ts'
import { routingOf } from './routing.ts'

const ORIGIN = 'http://127.0.0.1:3300'

describe('backends of remote write', () => {
  const named = (...urls: string[]) =>
    proxiedEndpoints(routingOf({ remoteWrite: urls.map((url) => ({ url })) })).remote_write_endpoints.map(({ url }) =>
      url.replace(`${ORIGIN}/proxy/remote-write/`, ''),
    )

  test('one is named after its host', () => {
    expect(named('http://prometheus-0.endpoints:9090/api/v1/write')).toEqual(['prometheus-0/write'])
    expect(named('http://[fd00::1]/write')).toEqual(['fd00--1/write'])
    expect(named('http://h/write', 'http://h:80/write')).toEqual(['h/write'])
  })

  test.each([
    ['one ingress', 'http://h/a', 'http://h/b'],
    ['one host', 'http://h:1/a', 'http://h:2/a'],
    ['with and without TLS', 'http://h/a', 'https://h/a'],
    ['hosts with the same first label', 'http://h.x/a', 'http://h.y/a'],
    ['an address and a name like it', 'http://1.2.3.4/a', 'http://1-2-3-4/a'],
  ])('two of one name have a hash: %s', (_, one, other) => {
    const names = named(one, other)
    expect(names).toEqual([expect.stringMatching(HASHED), expect.stringMatching(HASHED)])
    expect(new Set(names).size).toBe(2)
    expect(named(other, one)).toEqual(names)
    expect(named(other, 'http://z/', one, one)).toEqual([...names, 'z/write'])
  })
  const HASHED = /^[-a-z0-9]+\.[0-9a-f]{12}\/write$/

  test('one that is called like the hash of another', () => {
    const [first = ''] = named('http://h/a', 'http://h/b')
    const names = named(
      'http://h/a',
      'http://h/b',
      `http://${first.replace('/write', '')}/`,
      `http://${first.replace('.', '-').replace('/write', '')}/`,
    )
    expect(new Set(names).size).toBe(4)
  })
})
