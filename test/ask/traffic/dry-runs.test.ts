import { expect, test } from 'vitest'
import { auditNotes, observeDryRuns, readDryRuns } from '../../../src/ask/traffic/dry-runs.ts'
import type { Series } from '../../../src/ask/traffic/prometheus.ts'

const series = (labels: Series['labels'], value = 1): Series => ({
  labels: { counter: 'envoy_http_inbound_0_0_0_0_80_rbac', authz_dry_run_action: 'allow', ...labels },
  value,
})

const OF_POD = { namespace: 'shop', pod: 'way-7d4b9c-x2x4z' }

test('a counter of a waypoint is known by its namespace and its Gateway or its pod, and those of other proxies are left out', () => {
  const found = readDryRuns(
    [
      series(OF_POD),
      series({ kubernetes_namespace: 'shop', kubernetes_pod_name: 'way-7d4b9c-abcde' }),
      series({ namespace: 'shop', pod_name: 'way-7d4b9c-fghij' }),
      series({ namespace: 'shop', gateway_networking_k8s_io_gateway_name: 'way', pod: 'anything' }),
      series({ namespace: 'pay', pod: 'way-7d4b9c-x2x4z' }, 90),
      series({ namespace: 'shop', pod: 'web-7d4b9c-x2x4z' }, 90),
      series({}, 90),
    ],
    ['shop/way'],
  )
  expect(found).toEqual([{ waypoint: 'shop/way', port: 80, allow: 4, deny: 0 }])
})

test.each<[string, Series['labels'], number | undefined]>([
  ['the name of the counter', { counter: 'envoy_http_inbound_0_0_0_0_9080_rbac' }, 9080],
  ['such a name with a delimiter', { counter: 'envoy_http_inbound_0_0_0_0_9080__rbac' }, 9080],
  ['a label', { counter: 'envoy_http_rbac', http_conn_manager_prefix: 'inbound_0.0.0.0_9080;' }, 9080],
  ['nothing, for TCP', { counter: 'envoy_tcp_rbac' }, undefined],
])('the port is known by %s', (_, labels, port) => {
  expect(readDryRuns([series({ ...OF_POD, ...labels })], ['shop/way'])[0]?.port).toBe(port)
})

test('ALLOW and DENY are counted apart, and each port has its own counts', () => {
  const found = readDryRuns(
    [
      series(OF_POD, 3.2),
      series({ ...OF_POD, authz_dry_run_action: 'deny' }, 0.2),
      series({ ...OF_POD, counter: 'envoy_http_inbound_0_0_0_0_8080_rbac' }, 9),
    ],
    ['shop/way'],
  )
  expect(found).toEqual([
    { waypoint: 'shop/way', port: 80, allow: 3, deny: 1 },
    { waypoint: 'shop/way', port: 8080, allow: 9, deny: 0 },
  ])
})

test('without counters Prometheus is asked once, and nothing is known', async () => {
  const asked: string[] = []
  const query = async (expression: string) => {
    asked.push(expression)
    return []
  }
  expect(await observeDryRuns(query, 60)).toBeUndefined()
  expect(asked).toHaveLength(1)
})

test('a name that is no name of a metric is not written into an expression', async () => {
  const asked: string[] = []
  const query = async (expression: string) => {
    asked.push(expression)
    return [{ labels: { __name__: 'envoy_rbac} or up{' }, value: 1 }]
  }
  expect(await observeDryRuns(query, 60)).toBeUndefined()
  expect(asked).toHaveLength(1)
})

test.each<[string, Parameters<typeof auditNotes>[1], string]>([
  ['no counters', undefined, 'Prometheus has no counts of what dry runs would have refused.'],
  ['none', [{ waypoint: 'shop/way', port: 80, allow: 0, deny: 0 }], 'Waypoints counted nothing in the last 1h'],
  [
    'some',
    [{ waypoint: 'shop/way', port: 80, allow: 3, deny: 1 }],
    'The waypoint shop/way counted on port 80 in the last 1h what dry runs would have refused, of all its clients and Services: 3 that no ALLOW matched, 1 that a DENY matched.',
  ],
  ['some of TCP', [{ waypoint: 'shop/way', allow: 3, deny: 0 }], 'The waypoint shop/way counted of TCP'],
])('%s of the waypoints is said, and that the rest is an estimate', (_, counted, text) => {
  const [first, last] = auditNotes('1h', counted)
  expect([first, last]).toEqual([expect.stringContaining(text), expect.stringContaining('is an estimate')])
})
