import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'vitest'
import { readDryRuns } from '../../../src/ask/traffic/dry-runs.ts'
import { expressionsFor } from '../../../src/ask/traffic/expressions.ts'
import { observe } from '../../../src/ask/traffic/observe.ts'
import { createPrometheus, type Series } from '../../../src/ask/traffic/prometheus.ts'
import type { TrafficView } from '../../../src/ask/traffic/traffic.ts'
import { startPrometheus } from '../../features/coordinated-workers/nginx/prometheus.ts'
import { hasPrometheus } from '../../features/coordinated-workers/nginx/prometheus-program.ts'
import { until } from '../../process/helpers.ts'
import { granted } from '../lint/place.ts'
import { trafficApp } from './place.ts'

const [HTTP, OPENED, CLOSED, FAILED] = [
  'istio_requests_total',
  ...['opened', 'closed', 'failed'].map((end) => `istio_tcp_connections_${end}_total`),
] as [string, string, string, string]

type Counter = readonly [metric: string, labels: Readonly<Record<string, string>>, value: number]

/** Those that start at once would take the same port. */
let starting: Promise<unknown> = Promise.resolve()

/** A proxy with the metrics of Istio, which Prometheus scrapes each second. */
const startMesh = async ({ onTestFinished }: TestContext) => {
  let counters: readonly Counter[] = []
  const server = createServer((_, response) => {
    const lines = counters.map(([metric, labels, value]) => {
      const pairs = Object.entries(labels).map(([name, text]) => `${name}="${text}"`)
      return `${metric}{${pairs.join(',')}} ${value}\n`
    })
    response.end(lines.join(''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const targets = [`proxy.test:${(server.address() as AddressInfo).port}`]
  const job = { job_name: 'mesh', metrics_path: '/metrics', static_configs: [{ targets }], relabel_configs: [] }
  const started = starting.then(() => startPrometheus({ jobs: [job] }))
  starting = started.catch(() => undefined)
  const prometheus = await started
  onTestFinished(async () => {
    await prometheus.stop()
    server.close()
    server.closeAllConnections()
  })
  return {
    url: prometheus.url,
    /** Serves these counters until Prometheus has them. */
    show: async (...shown: Counter[]): Promise<void> => {
      counters = shown
      const [metric, , value] = shown.at(-1) ?? []
      await until(
        `${metric} is ${value}`,
        async () => (await prometheus.query(`${metric} == ${value}`)).length > 0,
        60_000,
      )
    },
  }
}

const client = (name: string, cluster = 'east') => ({
  source_workload: name,
  source_workload_namespace: 'shop',
  source_cluster: cluster,
})
const DB = { destination_workload: 'db', destination_workload_namespace: 'shop', destination_cluster: 'east' }
const SERVICE = { destination_service: 'db.shop.svc.cluster.local', destination_service_namespace: 'shop' }

/** Each waits for its own Prometheus to scrape, most of the time: they wait at once. */
describe.skipIf(!hasPrometheus).concurrent('with a real Prometheus (skipped without Prometheus and promtool)', () => {
  const sums = (found: readonly Series[]) => found.reduce((all, { value }) => all + value, 0)

  test('a counter that restarts is counted on', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    const labels = { reporter: 'waypoint', ...client('web'), ...SERVICE, response_code: '200' }
    await show([HTTP, labels, 1_000])
    await show([HTTP, labels, 1_010])
    await show([HTTP, labels, 5])
    await show([HTTP, labels, 8])
    const found = sums(await createPrometheus({ url })(expressionsFor('shop', 60).http))
    // 18 were seen, and Prometheus adds what may have been before the first sample and after the last one
    expect(found).toBeGreaterThanOrEqual(18)
    expect(found).toBeLessThan(36)
  })

  test('a counter that comes while its proxy is scraped began at zero, also if it grows on', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    const build: Counter = ['istio_build', { component: 'proxy' }, 1]
    const labels = { reporter: 'waypoint', ...client('job'), ...SERVICE, response_code: '200' }
    const older = { ...labels, ...client('web') }
    await show(build, [HTTP, older, 50_000])
    await show(build, [HTTP, older, 50_000], [HTTP, labels, 1_000])
    await show(build, [HTTP, older, 50_001], [HTTP, labels, 1_001])
    const found = await createPrometheus({ url })(expressionsFor('shop', 60).http)
    const [job = 0, web = 0] = ['job', 'web'].map(
      (name) => found.find((one) => one.labels.source_workload === name)?.value,
    )
    expect(job).toBeGreaterThanOrEqual(1_001)
    expect(job).toBeLessThan(1_010)
    // what it had counted before it was scraped is not of the window
    expect(web).toBeGreaterThanOrEqual(1)
    expect(web).toBeLessThan(10)
  })

  test('a connection that was refused once is seen, by a ztunnel with and without a counter of failures', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    const labels = { reporter: 'destination', ...client('scan'), ...DB, response_flags: 'DENY' }
    await show([CLOSED, { ...labels, instance_of: 'older' }, 1], [CLOSED, labels, 1], [FAILED, labels, 1])
    expect(sums(await createPrometheus({ url })(expressionsFor('shop', 60).denied))).toBe(2)
  })

  test('no series is counted twice, nor one of another namespace', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    const elsewhere = { destination_workload_namespace: 'pay', destination_service_namespace: 'mesh' }
    const hosts = ['db.shop', 'db.shop:80', 'db.shop.svc.cluster.local', 'db.shop2.svc', 'shop.pay.svc', 'db.shopping']
    await show(
      [HTTP, { ...DB, ...SERVICE }, 1],
      [HTTP, { ...DB, destination_service_namespace: 'mesh' }, 10],
      [HTTP, { destination_service_namespace: 'shop' }, 100],
      ...hosts.map((destination_service): Counter => [HTTP, { ...elsewhere, destination_service }, 1_000]),
      [HTTP, elsewhere, 77],
    )
    expect(sums(await createPrometheus({ url })(expressionsFor('shop', 60).http))).toBe(3_111)
  })

  test('GET /traffic has all four classes, missing labels and two clusters', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    const http = { reporter: 'waypoint', ...SERVICE, destination_cluster: 'east' }
    await show(
      [HTTP, { ...http, ...client('web'), response_code: '200' }, 40],
      [HTTP, { ...http, ...client('web'), reporter: 'source', response_code: '200' }, 44],
      [HTTP, { ...http, ...client('web', 'west'), response_code: '200' }, 30],
      [HTTP, { ...http, ...client('scan'), destination_service: 'db:80', response_code: '403' }, 20],
      [OPENED, { reporter: 'destination', ...DB, response_flags: '-' }, 3],
      [OPENED, { reporter: 'destination', ...DB, ...client('scan'), response_flags: '-' }, 2],
      [FAILED, { reporter: 'destination', ...DB, ...client('scan'), response_flags: 'DENY' }, 2],
    )
    const app = trafficApp(await granted(), url)
    const view = (await (await app.request('/traffic?namespace=shop&window=1m')).json()) as TrafficView
    expect(view.flows.map((flow) => [flow.from, flow.fromCluster, flow.protocol, flow.requests, flow.class])).toEqual([
      ['shop/scan', 'east', 'http', 20, 'refused'],
      ['shop/scan', 'east', 'tcp', 2, 'refused'],
      ['unknown', undefined, 'tcp', 3, 'used without a relation'],
      ['shop/web', 'east', 'http', 40, 'allowed and used'],
      ['shop/web', 'west', 'http', 30, 'allowed and used'],
    ])
  })

  test('what dry runs would have refused is counted for each port, also if a proxy restarts', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    const labels = { namespace: 'shop', pod: 'way-7d4b9c-x2x4z', authz_dry_run_action: 'allow' }
    const counter = (port: number, result: string, value: number): Counter => [
      `envoy_http_inbound_0_0_0_0_${port}_rbac`,
      { ...labels, authz_dry_run_result: result },
      value,
    ]
    await show(counter(8080, 'denied', 2), counter(80, 'allowed', 50), counter(80, 'denied', 30))
    await show(counter(8080, 'denied', 2), counter(80, 'allowed', 50), counter(80, 'denied', 40))
    await show(counter(8080, 'denied', 2), counter(80, 'allowed', 50), counter(80, 'denied', 5))
    const { dryRuns = [] } = await observe(createPrometheus({ url }), 'shop', 60)
    const [first, second] = readDryRuns(dryRuns, ['shop/way'])
    expect(second).toEqual({ waypoint: 'shop/way', port: 8080, allow: 2, deny: 0 })
    expect(first).toMatchObject({ waypoint: 'shop/way', port: 80, deny: 0 })
    // 15 were seen, and Prometheus adds what may have been before the first sample and after the last one
    expect(first?.allow).toBeGreaterThanOrEqual(15)
    expect(first?.allow).toBeLessThan(30)
  })

  test('the time since which proxies are scraped is known, and is the window at most', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    await show(['istio_build', { component: 'ztunnel' }, 1])
    const read = () => observe(createPrometheus({ url }), 'shop', 86_400)
    const { coveredSeconds = Number.NaN } = await read()
    expect(coveredSeconds).toBeLessThan(60)
    await until('it is known for longer', async () => ((await read()).coveredSeconds ?? 0) > coveredSeconds)
  })

  test('the time since which proxies are scraped is known by their counters, where a Prometheus keeps nothing else', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    await show(['istio_requests_total', { reporter: 'waypoint' }, 1])
    const read = () => observe(createPrometheus({ url }), 'shop', 60)
    const { coveredSeconds = Number.NaN } = await read()
    expect(coveredSeconds).toBeLessThan(60)
    await until('it is known for longer', async () => ((await read()).coveredSeconds ?? 0) > coveredSeconds)
  })

  test('a Prometheus without the metrics of a mesh has no traffic, and no relation is said to be silent', async (context) => {
    const { expect } = context
    const { url, show } = await startMesh(context)
    // istiod alone counts no traffic
    await show(['up_to_date', {}, 1], ['istio_build', { component: 'pilot' }, 1])
    const view = (await (
      await trafficApp(await granted(), url).request('/traffic?namespace=shop&window=1m')
    ).json()) as TrafficView
    expect(view.flows).toEqual([])
    expect(view.notes[0]).toContain('no istio_build')
  })
})
