import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseHost, serviceHost } from '../../../src/features/services/host.ts'

describe('what is no Service is refused', () => {
  test.each([
    ['10.1.232.144', 'the address "10.1.232.144"'],
    ['10.1', 'the address "10.1"'],
    ['0x7f.0x1', 'the address "0x7f.0x1"'],
    ['2130706433', 'the address "2130706433"'],
    ['fd00::1', 'the address "fd00::1"'],
    ['[fd00::1]', 'the address "[fd00::1]"'],
    ['::ffff:10.1.2.3', 'the address'],
    ['web-0.web-endpoints.shop.svc.cluster.local', 'the name of a pod, "web-0.web-endpoints.shop.svc.cluster.local"'],
    ['web-0.web.shop.svc', 'the name of a pod'],
    ['web-0.web.shop', 'the name of a pod'],
    ['web-0.web-endpoints', 'the name of a pod'],
    ['web-0.web-endpoints.svc', 'the name of a pod'],
    ['10-1-232-144.shop.pod.cluster.local', 'the name of a pod'],
    ['10-1-232-144.shop.pod', 'the name of a pod'],
    ['', 'got ""'],
    ['.', 'got "."'],
    ['db..shop', 'got "db..shop"'],
    ['-db', 'got "-db"'],
    ['db_1', 'got "db_1"'],
    ['http://db.shop', 'got "http://db.shop"'],
    ['db.shop:5432', 'got "db.shop:5432"'],
    ['db\nshop', 'got'],
    ['bücher.example', 'got'],
    ['x'.repeat(64), 'got'],
    [`${'x.'.repeat(127)}y.z`, 'got'],
  ])('%j', (name, problem) => {
    expect(parseHost(name, 'shop')).toEqual({
      problem: expect.stringMatching(/^expected the name of a Service, got .{0,99}$/),
    })
    expect(parseHost(name, 'shop')).toEqual({ problem: expect.stringContaining(problem) })
  })
})

test.each([
  ['db', 'db.shop.svc.cluster.local'],
  ['db.data', 'db.data.svc.cluster.local'],
  ['DB.data.', 'db.data.svc.cluster.local'],
  ['db.data.svc', 'db.data.svc.cluster.local'],
  ['db.data.svc.cluster.local', 'db.data.svc.cluster.local'],
  ['db.data.svc.cluster.local.', 'db.data.svc.cluster.local'],
  ['db-0', 'db-0.shop.svc.cluster.local'],
  ['db-0.db', 'db-0.db.svc.cluster.local'],
  ['db.pod', 'db.pod.svc.cluster.local'],
  ['true', 'true.shop.svc.cluster.local'],
  ['db.example.com', 'db.example.com'],
  ['db-0.example.com', 'db-0.example.com'],
  ['a.b.example.com', 'a.b.example.com'],
])('%s is %s', (name, host) => {
  expect(parseHost(name, 'shop')).toEqual({ host })
})

test('a full name is its own', () => {
  const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,20}[a-z0-9])?$/)
  fc.assert(
    fc.property(label, label, label, (name, namespace, other) => {
      fc.pre(!(namespace.endsWith('-endpoints') && name.startsWith(namespace.slice(0, -10))))
      const host = serviceHost(name, namespace)
      expect(parseHost(host, other)).toEqual({ host })
    }),
  )
})
