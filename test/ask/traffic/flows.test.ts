import { describe, expect, test } from 'vitest'
import { type Observed, readFlows } from '../../../src/ask/traffic/flows.ts'
import type { Series } from '../../../src/ask/traffic/prometheus.ts'

type Labels = Series['labels']

const series = (labels: Labels, value: number): Series => ({ labels, value })

const WEB: Labels = {
  source_workload: 'web',
  source_workload_namespace: 'shop',
  source_principal: 'spiffe://cluster.local/ns/shop/sa/web',
  source_cluster: 'east',
}
const DB: Labels = {
  destination_workload: 'db',
  destination_workload_namespace: 'shop',
  destination_service: 'db.shop.svc.cluster.local',
  destination_service_name: 'db',
  destination_service_namespace: 'shop',
  destination_cluster: 'east',
}
const WAYPOINT = { source_workload: 'way', source_workload_namespace: 'shop', source_cluster: 'east' }
const seen = (reporter: string, ...labels: Labels[]): Labels => Object.assign({ reporter }, ...labels)

const KNOWN = {
  namespace: 'shop',
  applications: new Set(['shop/web', 'shop/db']),
  waypoints: new Set(['shop/way']),
}

const read = (observed: Partial<Observed>) => readFlows({ http: [], tcp: [], denied: [], ...observed }, KNOWN)

const EAST = { fromCluster: 'east', toCluster: 'east' }
const FLOW = { from: 'shop/web', to: 'shop/db', ...EAST, accounts: ['shop/web'] }
const TO_SERVICE = { ...FLOW, ways: ['service'] }

describe('each flow counts once', () => {
  const near = seen('destination', WEB, DB)
  const far = seen('source', WEB, DB)
  test.each<[string, Series[], number]>([
    ['the destination’s report counts, and not the client’s', [series(near, 10), series(far, 11)], 10],
    ['the client’s report counts where there is no other', [series(far, 11)], 11],
    ['a waypoint’s report counts, and not the client’s', [series(seen('waypoint', WEB, DB), 7), series(far, 11)], 7],
    [
      'what passed the waypoint and what passed it by are summed',
      [series(seen('waypoint', WEB, DB), 7), series(near, 10)],
      17,
    ],
    ['several series of one flow are summed', [series(near, 10), series({ ...near, source_principal: 'x' }, 2)], 12],
    [
      'a client’s report without clusters is the same traffic',
      [series(near, 10), series({ ...far, source_cluster: '' }, 9)],
      10,
    ],
  ])('%s', (_, tcp, requests) => {
    const { flows, hops } = read({ tcp })
    expect([flows.map(({ ways: _, ...flow }) => flow), hops]).toEqual([
      [{ ...FLOW, protocol: 'tcp', requests, refused: 0 }],
      0,
    ])
  })

  const straight = { ...far, destination_service: 'unknown', destination_service_name: '' }
  test.each<[string, Series[], string[] | undefined]>([
    ['to a Service, if the client’s proxy says so', [series(near, 10), series(far, 11)], ['service']],
    ['to a Service, if a waypoint reports it', [series(seen('waypoint', WEB, DB), 7)], ['service']],
    ['to pods, if the client’s proxy knows no Service', [series(near, 10), series(straight, 11)], ['pod']],
    ['to both', [series(near, 10), series(straight, 5), series(far, 5)], ['pod', 'service']],
    ['a way that is not known, if it joined the mesh later', [series(near, 100), series(far, 11)], undefined],
    ['a way that is not known, by the destination alone, which guesses', [series(near, 10)], undefined],
    [
      'a way that is not known, if something passed the waypoint by',
      [series(seen('waypoint', WEB, DB), 7), series(near, 10)],
      undefined,
    ],
  ])('a client goes %s', (_, tcp, ways) => {
    expect(read({ tcp }).flows.map((flow) => flow.ways)).toEqual([ways])
  })

  test('connections to and from a waypoint are counted apart: the waypoint reports the requests', () => {
    const to = { ...DB, destination_workload: 'way' }
    const tcp = [series(seen('source', WEB, to), 3), series(seen('destination', WAYPOINT, DB), 4)]
    const http = [series({ ...seen('waypoint', WEB, DB), response_code: '200' }, 30)]
    expect(read({ http, tcp })).toEqual({
      flows: [{ ...TO_SERVICE, protocol: 'http', requests: 30, refused: 0 }],
      hops: 7,
    })
  })

  test('a waypoint that is refused by the pods is listed', () => {
    const hop = seen('destination', WAYPOINT, DB)
    expect(read({ tcp: [series(hop, 4)], denied: [series(hop, 4)] }).flows).toMatchObject([
      { from: 'shop/way', to: 'shop/db', requests: 4, refused: 4 },
    ])
  })
})

describe('what is refused', () => {
  test('an answer 403 is refused, and any other is not', () => {
    const http = ['200', '403', '503'].map((response_code, index) =>
      series({ ...seen('waypoint', WEB, DB), response_code }, 10 ** index),
    )
    expect(read({ http }).flows).toEqual([{ ...TO_SERVICE, protocol: 'http', requests: 111, refused: 10 }])
  })

  test('a ztunnel counts a refused connection as opened as well', () => {
    const labels = seen('destination', WEB, DB)
    expect(read({ tcp: [series(labels, 8.02)], denied: [series(labels, 3.01)] }).flows).toEqual([
      { ...FLOW, protocol: 'tcp', requests: 8, refused: 3 },
    ])
  })

  test('no more is refused than was sent, and little is not nothing', () => {
    const labels = seen('destination', WEB, DB)
    expect(read({ denied: [series(labels, 0.2)] }).flows).toMatchObject([{ requests: 1, refused: 1 }])
  })

  test('a waypoint that refuses a request knows no workload, and says its own namespace: the host tells', () => {
    const refused = { ...WEB, response_code: '403', destination_service_namespace: 'mesh' }
    const hosts = ['db.shop.svc.cluster.local', 'db.shop:80', 'db.shop.svc:80'].map((destination_service) =>
      series(seen('waypoint', refused, { destination_service, destination_service_name: destination_service }), 1),
    )
    const short = {
      destination_service: 'db:80',
      destination_service_name: 'db:80',
      destination_service_namespace: 'shop',
    }
    expect(read({ http: [...hosts, series(seen('waypoint', refused, short), 1)] }).flows).toMatchObject([
      { from: 'shop/web', to: 'shop/db', requests: 4, refused: 4 },
    ])
  })
})

describe('names', () => {
  test.each<[string, Labels, string]>([
    ['a workload', WEB, 'shop/web'],
    ['no labels', {}, 'unknown'],
    [
      'unknown labels',
      { source_workload: 'unknown', source_workload_namespace: 'unknown', source_principal: 'unknown' },
      'unknown',
    ],
    ['a workload without a namespace', { source_workload: 'web' }, 'unknown'],
    ['the account of an application', { source_principal: 'spiffe://td/ns/shop/sa/web' }, 'shop/web'],
    ['another account', { source_principal: 'spiffe://td/ns/shop/sa/job' }, 'shop/sa/job'],
    [
      'its identity, if it says to be of another namespace',
      { ...WEB, source_principal: 'spiffe://td/ns/x/sa/y' },
      'x/sa/y',
    ],
    [
      'nothing, if its name is several lines',
      { ...WEB, source_workload: 'web\n---\nx', source_principal: '' },
      'unknown',
    ],
    ['its account, if its name has a path', { ...WEB, source_workload: 'sa/x' }, 'shop/web'],
    ['its account, if its name controls a terminal', { ...WEB, source_workload: '\u001b[2J' }, 'shop/web'],
    ['its account, if its name is very long', { ...WEB, source_workload: 'x'.repeat(261) }, 'shop/web'],
    ['nothing, if its identity is several lines', { source_principal: 'spiffe://td/ns/shop/sa/a\nb' }, 'unknown'],
    [
      'nothing, if its identity is very long',
      { source_principal: `spiffe://td/ns/shop/sa/${'a'.repeat(254)}` },
      'unknown',
    ],
    ['a canonical service', { source_canonical_service: 'web', source_workload_namespace: 'shop' }, 'shop/web'],
  ])('a client is known by %s', (_, labels, from) => {
    expect(read({ tcp: [series(seen('destination', labels, DB), 1)] }).flows).toMatchObject([{ from, to: 'shop/db' }])
  })

  test('the accounts that proxies saw are told, each once, and none of what has none', () => {
    const principals = [
      'spiffe://td/ns/shop/sa/b',
      'spiffe://other/ns/shop/sa/b',
      'spiffe://td/ns/shop/sa/a',
      'unknown',
    ]
    const tcp = principals.map((source_principal) => series(seen('destination', WEB, DB, { source_principal }), 1))
    expect(read({ tcp }).flows).toMatchObject([{ requests: 4, accounts: ['shop/a', 'shop/b'] }])
    expect(read({ tcp: tcp.slice(-1) }).flows[0]).not.toHaveProperty('accounts')
  })

  test.each<[string, Labels, string]>([
    ['its Service, if that is an application', { ...DB, destination_workload: 'db-v2' }, 'shop/db'],
    ['its workload, if only that is one', { ...DB, destination_service: 'any.shop.svc.cluster.local' }, 'shop/db'],
    [
      'its Service, if neither is one',
      { ...DB, destination_workload: 'v2', destination_service: 'x.shop.svc' },
      'shop/x',
    ],
    [
      'its workload, without a Service',
      { destination_workload: 'v2', destination_workload_namespace: 'shop' },
      'shop/v2',
    ],
    [
      'no name, where the host is elsewhere',
      { destination_service: 'a.example.com', destination_service_namespace: 'shop' },
      'shop/unknown',
    ],
    ['no name, without labels', {}, 'shop/unknown'],
    [
      'no name, if that is several lines',
      { ...DB, destination_workload: 'a\nb', destination_service: '', destination_service_name: '' },
      'shop/unknown',
    ],
  ])('a target is named by %s', (_, labels, to) => {
    expect(read({ tcp: [series(seen('destination', WEB, labels), 1)] }).flows).toMatchObject([{ from: 'shop/web', to }])
  })

  test('a flow to another namespace is not of this one', () => {
    const labels = { ...DB, destination_workload_namespace: 'pay', destination_service: 'db.pay.svc.cluster.local' }
    expect(read({ tcp: [series(seen('destination', WEB, labels), 1)] }).flows).toEqual([])
  })

  test('two clusters are told apart', () => {
    const tcp = ['east', 'west'].flatMap((destination_cluster, index) => [
      series(seen('destination', WEB, DB, { destination_cluster }), index + 1),
      series(seen('source', WEB, DB, { destination_cluster }), 9),
    ])
    expect(read({ tcp }).flows).toMatchObject([
      { fromCluster: 'east', toCluster: 'east', requests: 1 },
      { fromCluster: 'east', toCluster: 'west', requests: 2 },
    ])
  })
})
