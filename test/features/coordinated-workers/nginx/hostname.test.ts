import { describe, expect, test } from 'vitest'
import { hostPort, sanitizeHostname, urlHost } from '../../../../src/features/coordinated-workers/nginx/hostname.ts'

describe('a hostname of which nothing is left', () => {
  test.each(['', '../../../etc/passwd', '🔥🔥🔥.example.com', ';;;.example.com', '---.example.com'])(
    '%j',
    (hostname) => {
      expect(() => sanitizeHostname(hostname)).toThrow(
        new RangeError(`Cannot sanitize hostname to valid nginx upstream name: '${hostname}'`),
      )
    },
  )

  test('a hostname of which nothing is left is told in a line, however long it is', () => {
    expect(() => sanitizeHostname(';'.repeat(100_000))).toThrow(/^.{60}'?;{1,253}'$/)
  })
})

test.each([
  ['mimir-0.mimir-endpoints.cos.svc.cluster.local', 'mimir-0'],
  ['mimir', 'mimir'],
  ['192.168.1.108', '192-168-1-108'],
  ['::1', '--1'],
  ['2001:db8::7', '2001-db8--7'],
  ['::ffff:10.0.0.1', '--ffff-10-0-0-1'],
  ['1.2.3.999', '1'],
  ['emoji🔥.example.com', 'emoji'],
  ['bad;char', 'badchar'],
  ['$(cmd).x', 'cmd'],
  ['-a-b-.x', 'a-b'],
  ['upstream; include /etc/passwd;.x.com', 'upstreamincludeetcpasswd'],
])('%s is called %s', (hostname, name) => {
  expect(sanitizeHostname(hostname)).toBe(name)
})

test.each([
  ['10.0.0.1', '10.0.0.1:80'],
  ['fd00::1', '[fd00::1]:80'],
  ['tempo.cos.svc.cluster.local', 'tempo.cos.svc.cluster.local:80'],
])('%s and a port', (host, address) => {
  expect(hostPort(host, 80)).toBe(address)
})

test.each([
  '',
  ' ',
  'a b',
  'a..b',
  '.a',
  'a.',
  '-a',
  'a-',
  '_a',
  'a;',
  'ü',
  'fe80::1%eth0',
  '[fd00::1]',
  'a:1',
  `${'x'.repeat(64)}.y`,
  `${'x.'.repeat(127)}x`,
])('no address follows from what is neither a DNS name nor an IP address: %j', (host) => {
  expect(urlHost(host)).toBeUndefined()
})
