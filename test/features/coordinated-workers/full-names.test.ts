import { expect, test } from 'vitest'
import { withFullName } from '../../../src/features/coordinated-workers/full-names.ts'
import { parseClusterDomain } from '../../../src/platform/kubernetes/cluster-domain.ts'

const SEARCH = { namespaces: ['logs', 'shop'], domain: 'k8s.example' }

test.each([
  ['http://loki:3100/push?a=b', 'http://loki.logs.svc.k8s.example:3100/push?a=b'],
  ['https://loki', 'https://loki.logs.svc.k8s.example'],
  ['http://loki.logs:3100/', 'http://loki.logs.svc.k8s.example:3100/'],
  ['http://loki.shop', 'http://loki.shop.svc.k8s.example'],
  ['http://loki.shop.svc/x', 'http://loki.shop.svc.k8s.example/x'],
  ['http://loki-0.loki-endpoints.shop.svc/x', 'http://loki-0.loki-endpoints.shop.svc.k8s.example/x'],
  ['tempo:4317', 'tempo.logs.svc.k8s.example:4317'],
  ['tempo.shop:4317', 'tempo.shop.svc.k8s.example:4317'],
])('%s is short for %s', (url, full) => {
  expect(withFullName(url, SEARCH)).toBe(full)
})

test.each([
  'http://loki.shop.svc.cluster.local:3100/push',
  'https://logs.example.org/push',
  'http://example.com',
  'http://10.0.0.1:3100/',
  'http://[fd00::1]:3100/',
  'http://localhost:3100/',
  'http://127.1/',
  'http://a:b@loki/',
  'http:///path',
  '',
])('%s is taken as it is', (url) => {
  expect(withFullName(url, SEARCH)).toBe(url)
})

test.each([
  ['nameserver 10.0.0.10\nsearch shop.svc.k8s.example svc.k8s.example k8s.example\noptions ndots:5', 'k8s.example'],
  ['search svc.cluster.local.\n', 'cluster.local'],
  ['search example.org', undefined],
  ['nameserver 10.0.0.10', undefined],
  ['', undefined],
])('of the resolv.conf %j the cluster has the domain %s', (text, domain) => {
  expect(parseClusterDomain(text)).toBe(domain)
})
