import { describe, expect, onTestFinished, test } from 'vitest'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import {
  COORDINATOR,
  configure,
  createCluster,
  locations,
  meshOf,
  nginxFile,
  relate,
  relationTo,
  saidBy,
  scale,
  startedCluster,
  toldBy,
  WORKERS,
} from '../../helpers/cluster.ts'
import { APPLICATION, createWorld, isWrite, service, type World, workload } from '../../helpers/world.ts'
import { linesOf } from './nginx/nginx-file.ts'

const ORIGIN = 'http://tempo.shop.svc.cluster.local:3300'

const tell = (world: World, told: object) => world.send('relation-changed', { application: COORDINATOR, ...told })

const LOKI = relationTo('loki', 20, 'logging', {
  units: {
    'loki/0': { endpoint: '{"url": "http://loki-0.loki.logs.svc:3100/loki/api/v1/push"}' },
    'loki/1': { endpoint: '{"url": "https://loki-1.loki.logs.svc:3100/loki/api/v1/push"}' },
  },
})
const PROMETHEUS = relationTo('prometheus', 21, 'send-remote-write', {
  units: { 'prometheus/0': { remote_write: '{"url": "http://prometheus-0.example:9090/api/v1/write"}' } },
})
const TRACING = relationTo('tracing', 22, 'charm-tracing', {
  data: { receivers: '[{"protocol": {"name": "otlp_http", "type": "http"}, "url": "http://traces.example:4318"}]' },
})

const withSources = async (config: object = {}): Promise<World> => {
  const world = await startedCluster({ ...config })
  for (const told of [LOKI, PROMETHEUS, TRACING]) await tell(world, told)
  return world
}

describe('the telemetry of workers', () => {
  test('the telemetry of workers goes through the coordinator, whose nginx knows where to', async () => {
    const world = await withSources()
    expect(toldBy(world, COORDINATOR, 'querier')).toMatchObject({
      loki_endpoints: {
        'loki/0': `${ORIGIN}/proxy/loki/loki-0/push`,
        'loki/1': `${ORIGIN}/proxy/loki/loki-1/push`,
      },
      remote_write_endpoints: [
        { url: expect.stringMatching(`^${ORIGIN}/proxy/remote-write/prometheus-0\\.[0-9a-f]{12}/write$`) },
      ],
      charm_tracing_receivers: { otlp_http: `${ORIGIN}/proxy/charm-tracing/otlp_http/` },
      workload_tracing_receivers: {},
    })
    expect(locations(world)).toEqual([
      '= /',
      '= /status',
      ...['compactor', 'ingester', 'querier'].flatMap((name) =>
        [0, 1].map((number) => `= /proxy/worker/${name}-${number}/metrics`),
      ),
      '= /proxy/loki/loki-0/push',
      '= /proxy/loki/loki-1/push',
      expect.stringMatching(/^= \/proxy\/remote-write\/prometheus-0\.[0-9a-f]{12}\/write$/),
      '= /proxy/remote-write/prometheus-0/write',
      '^~ /proxy/charm-tracing/otlp_http/',
      '^~ /proxy/',
      '/',
    ])
    expect(linesOf(nginxFile(world) ?? '')).toContain(
      'proxy_pass http://querier-0.querier-endpoints.shop.svc.cluster.local:8080/metrics$is_args$args',
    )
  })

  test('the telemetry of workers is in a ConfigMap of the coordinator’s own', async () => {
    const world = await withSources()
    expect(world.object('ConfigMap', 'tempo-nginx')).toMatchObject({
      metadata: { labels: { 'meshstep.dev/application': COORDINATOR, 'app.kubernetes.io/managed-by': 'meshstep' } },
      data: { 'nginx.conf': expect.stringContaining('listen 3300;') },
    })
  })

  test('the telemetry of workers is not written again in another order, nor when nothing changed', async () => {
    const world = await withSources()
    const units = Object.fromEntries(Object.entries(LOKI.remote.units ?? {}).toReversed())
    world.calls.length = 0
    for (const told of [TRACING, PROMETHEUS, LOKI, { ...LOKI, remote: { ...LOKI.remote, units } }])
      await tell(world, told)
    expect(world.calls.filter(isWrite).filter((call) => !call.includes('juju-service-mesh-tempo-labels'))).toEqual([])
    const ordered = nginxFile(world)
    const other = await startedCluster()
    for (const told of [TRACING, PROMETHEUS, LOKI]) await tell(other, told)
    expect(nginxFile(other)).toBe(ordered)
  })

  test('the telemetry of workers changes to the ports and schemes of TLS and back', async () => {
    const world = await withSources()
    const before = nginxFile(world)
    await configure(world, { tls: true })
    expect(toldBy(world, COORDINATOR, 'querier').loki_endpoints).toEqual({
      'loki/0': 'https://tempo.shop.svc.cluster.local:3301/proxy/loki/loki-0/push',
      'loki/1': 'https://tempo.shop.svc.cluster.local:3301/proxy/loki/loki-1/push',
    })
    expect(linesOf(nginxFile(world) ?? '')).toEqual(
      expect.arrayContaining([
        'listen 3301 ssl',
        'proxy_pass https://querier-0.querier-endpoints.shop.svc.cluster.local:8080/metrics$is_args$args',
      ]),
    )
    await configure(world)
    expect(nginxFile(world)).toBe(before)
  })

  test('the telemetry of workers goes straight to its end without telemetryProxy, and the ConfigMap goes', async () => {
    const world = await withSources()
    await configure(world, { telemetryProxy: undefined })
    expect(nginxFile(world)).toBeUndefined()
    expect(toldBy(world, COORDINATOR, 'querier')).toMatchObject({
      loki_endpoints: { 'loki/0': 'http://loki-0.loki.logs.svc:3100/loki/api/v1/push' },
      charm_tracing_receivers: { otlp_http: 'http://traces.example:4318' },
    })
    await configure(world)
    expect(nginxFile(world)).toContain('/proxy/loki/loki-0/push')
  })

  test('the telemetry of workers without telemetryProxy is named as soon as there is a mesh', async () => {
    const world = await startedCluster({ telemetryProxy: undefined })
    expect((await world.send('resync', { application: COORDINATOR })).messages).toEqual([])
    await world.send('relation-changed', { application: COORDINATOR, ...meshOf() })
    expect((await world.send('resync', { application: COORDINATOR })).messages).toEqual([
      expect.stringMatching(
        /^coordinator\.telemetryProxy: expected httpPort and httpsPort: on a mesh routing is mandatory/,
      ),
    ])
  })
})

describe('on a mesh whoever scrapes is let in', () => {
  /** An application whose pods carry its name, and run under its account. */
  const deployed = (name: string): KubernetesObject[] => {
    const objects = JSON.stringify([workload('StatefulSet', name), service(name)])
    return JSON.parse(
      objects
        .replaceAll(`"${APPLICATION}"`, `"${name}"`)
        .replace('"ports":[{"port":80}]', '"ports":[{"name":"http","port":80},{"name":"http-api","port":3300}]')
        .replaceAll('"containers"', `"serviceAccountName":"${name}","containers"`),
    )
  }

  const explained = async () => {
    const world = createWorld([COORDINATOR, 'querier', 'prometheus'].flatMap(deployed), { isOwnSink: true })
    world.api.seed([istioConfig])
    const istio = startIstio({ api: world.api })
    onTestFinished(() => istio.stop())
    await world.send('config-changed', { application: 'beacon', config: { mesh: {} } })
    await configure(world, { minimalDeployment: [] })
    await world.send('config-changed', { application: 'querier', config: { worker: { roles: ['querier'] } } })
    await relate(world, 'querier', 1)
    await tell(world, meshOf())
    await world.send('relation-changed', { application: 'prometheus', ...meshOf(98) })
    await tell(world, relationTo('prometheus', 30, 'metrics-endpoint', { role: 'provides' }))
    return async (query: string): Promise<boolean> => {
      const answer = await world.app.request(`/explain?from=shop/prometheus&${query}`)
      return ((await answer.json()) as { allowed: boolean }).allowed
    }
  }

  test('on a mesh whoever scrapes is let in to each exporter at its pod, and to the metrics of workers through the coordinator, and to nothing else', async () => {
    const isAllowed = await explained()
    const proxied = 'to=shop/tempo&port=3300&path=/proxy/worker/querier-0/metrics'
    expect(await isAllowed('to=shop/tempo&via=pod&port=9113')).toBe(true)
    expect(await isAllowed(`${proxied}&method=GET`)).toBe(true)
    for (const query of [
      'to=shop/tempo&via=pod&port=3300',
      'to=shop/querier&via=pod&port=8080',
      `${proxied}&method=POST`,
      'to=shop/tempo&port=3300&path=/proxy/loki/loki-0/push&method=GET',
      'to=shop/tempo&port=9113&path=/metrics&method=GET',
    ])
      expect([query, await isAllowed(query)]).toEqual([query, false])
  })
})

describe('a hostile backend', () => {
  test.each([
    ['that ends the directive', 'http://x/;}server{listen 81;}'],
    ['with a line break', 'http://x/\n}'],
    ['of a file', 'file:///etc/passwd'],
    ['with a user and a password', 'http://a:b@x/'],
  ])('a hostile backend at a URL %s is named, and everything else is routed', async (_, url) => {
    const world = await withSources()
    const before = nginxFile(world)
    const units = { ...LOKI.remote.units, 'loki/2': { endpoint: JSON.stringify({ url }) } }
    const handled = await tell(world, { ...LOKI, remote: { ...LOKI.remote, units } })
    expect(handled.messages).toEqual([expect.stringContaining('loki/2')])
    expect(nginxFile(world)).toBe(before)
  })

  test('a hostile backend at a URL with a variable of nginx is reached at that very URL', async () => {
    const world = await withSources()
    const units = { 'loki/2': { endpoint: '{"url": "http://x.example/$request_uri"}' } }
    await tell(world, { ...LOKI, remote: { ...LOKI.remote, units } })
    expect(linesOf(nginxFile(world) ?? '')).toContain(
      ['proxy_pass http://x.example/$', '{dollar}request_uri$is_args$args'].join(''),
    )
  })

  test('a hostile backend under the name of no unit is named, and everything else is routed', async () => {
    const world = await withSources()
    const units = { ...LOKI.remote.units, 'x/0 { return 200; }': { endpoint: '{"url": "http://x/"}' } }
    const handled = await tell(world, { ...LOKI, remote: { ...LOKI.remote, units } })
    expect(handled.messages).toEqual([expect.stringContaining('x/0 { return 200; }')])
    expect(locations(world)).toContain('= /proxy/loki/loki-1/push')
  })
})

describe('what Prometheus has to scrape', () => {
  const UUID = '8f2c63a1-0d5c-4f0e-9a53-0c5d6b7a8e90'

  const scraped = async (config: object = {}): Promise<World> => {
    const world = createWorld([
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'shop', annotations: { 'model.juju.is/id': UUID } },
      },
      ...[COORDINATOR, 'querier'].flatMap((name) => [workload('StatefulSet', name), service(name)]),
    ])
    await configure(world, { minimalDeployment: [], ...config })
    await tell(world, relationTo('prometheus', 5, 'metrics-endpoint', { role: 'provides' }))
    await tell(world, {
      relation: { id: 1, endpoint: 'cluster', interface: 'cluster', role: 'provides' },
      remote: {
        application: 'querier',
        data: { role: 'querier' },
        units: {
          'querier/0': {
            juju_topology: { application: 'querier', unit: 'querier/0', charm_name: 'worker-k8s' },
            address: 'querier-0.example',
          },
        },
      },
    })
    return world
  }

  /** What Prometheus was told last. */
  const publishedBy = (world: World): Record<string, string> => {
    const told = world.published.filter(({ subject }) => subject === 'shop/prometheus').at(-1)
    return (told?.data as { remote: { data: Record<string, string> } } | undefined)?.remote.data ?? {}
  }

  const published = async (config: object = {}) => publishedBy(await scraped(config))

  const relabelled = (charm: string, unit: string) => [
    { target_label: 'juju_charm', replacement: charm },
    { target_label: 'juju_unit', replacement: unit },
    { target_label: 'juju_application', replacement: unit.split('/')[0] },
    { target_label: 'juju_model', replacement: 'shop' },
    { target_label: 'juju_model_uuid', replacement: UUID },
  ]
  const exporter = (number: number) => ({
    job_name: `juju_shop_tempo-${number}`,
    metrics_path: '/metrics',
    static_configs: [{ targets: [`tempo-${number}.tempo-endpoints.shop.svc.cluster.local:9113`] }],
    relabel_configs: relabelled('tempo', `tempo/${number}`),
  })

  test('what Prometheus has to scrape is published on the metrics relation: each worker through the coordinator, and each of its own exporters', async () => {
    expect(JSON.parse((await published()).scrape_jobs ?? '')).toEqual([
      {
        job_name: 'juju_shop_querier-0',
        metrics_path: '/proxy/worker/querier-0/metrics',
        static_configs: [{ targets: ['tempo.shop.svc.cluster.local:3300'] }],
        relabel_configs: relabelled('worker-k8s', 'querier/0'),
      },
      exporter(0),
      exporter(1),
    ])
  })

  test('what Prometheus has to scrape says whose metrics they are, with the alert rules for each application', async () => {
    const rule = { alert: 'Down', expr: 'up{%%juju_topology%%} == 0', for: '5m', labels: { severity: 'critical' } }
    const groups = [{ name: 'up', rules: [rule] }]
    const told = await published({ alertRules: { workers: { metrics: groups, logs: groups } }, charm: 'tempo-k8s' })
    expect(JSON.parse(told.scrape_metadata ?? '')).toEqual({
      model: 'shop',
      model_uuid: UUID,
      application: 'tempo',
      charm_name: 'tempo-k8s',
    })
    const whose = { juju_model: 'shop', juju_model_uuid: UUID, juju_application: 'querier', juju_charm: 'worker-k8s' }
    const labels = `juju_model="shop", juju_model_uuid="${UUID}", juju_application="querier", juju_charm="worker-k8s"`
    expect(JSON.parse(told.alert_rules ?? '')).toEqual({
      groups: [
        {
          name: 'shop_querier_up',
          rules: [{ ...rule, expr: `up{${labels}} == 0`, labels: { severity: 'critical', ...whose } }],
        },
      ],
    })
  })

  test('what Prometheus has to scrape is over TLS where the cluster is', async () => {
    expect(JSON.parse((await published({ tls: true })).scrape_jobs ?? '')).toMatchObject([
      { scheme: 'https', static_configs: [{ targets: ['tempo.shop.svc.cluster.local:3301'] }] },
      { scheme: 'https' },
      { scheme: 'https' },
    ])
  })

  test('what Prometheus has to scrape is each worker itself where nothing is routed', async () => {
    expect(JSON.parse((await published({ telemetryProxy: undefined })).scrape_jobs ?? '')).toMatchObject([
      { metrics_path: '/metrics', static_configs: [{ targets: ['querier-0.example:8080'] }] },
      {},
      {},
    ])
  })

  test('what Prometheus has to scrape follows the pods of the coordinator with the event of their coming and going', async () => {
    const world = await scraped()
    await scale(world, COORDINATOR, 1)
    await world.send('resync', { application: COORDINATOR })
    const jobs = JSON.parse(publishedBy(world).scrape_jobs ?? '') as { job_name: string }[]
    expect(jobs.map(({ job_name }) => job_name)).toEqual(['juju_shop_querier-0', 'juju_shop_tempo-0'])
  })

  test('what Prometheus has to scrape is in another cluster at the names of that one', async () => {
    const told = await published({ clusterDomain: 'k8s.example', headlessService: 'tempo-pods' })
    const jobs = JSON.parse(told.scrape_jobs ?? '') as { static_configs: { targets: string[] }[] }[]
    expect(jobs.flatMap(({ static_configs }) => static_configs.flatMap(({ targets }) => targets))).toEqual([
      'tempo.shop.svc.k8s.example:3300',
      'tempo-0.tempo-pods.shop.svc.k8s.example:9113',
      'tempo-1.tempo-pods.shop.svc.k8s.example:9113',
    ])
  })

  test('what Prometheus has to scrape may be told with an id of the model that the config gives', async () => {
    const modelUuid = '11111111-2222-4333-8444-555555555555'
    expect(JSON.parse((await published({ modelUuid })).scrape_metadata ?? '')).toMatchObject({ model_uuid: modelUuid })
  })
})

test('Loki is told whose logs it takes, with the alert rules for them', async () => {
  const rule = { alert: 'Errors', expr: 'rate({%%juju_topology%%} |= "error" [5m]) > 1' }
  const world = await withSources({ alertRules: { workers: { logs: [{ name: 'logs', rules: [rule] }] } } })
  const { data } = saidBy(world, COORDINATOR, 'loki') ?? { data: {} }
  expect(JSON.parse(String(data.metadata))).toMatchObject({ model: 'shop', application: 'tempo' })
  const { groups } = JSON.parse(String(data.alert_rules)) as { groups: { name: string }[] }
  expect(groups.map(({ name }) => name)).toEqual(WORKERS.toSorted().map((name) => `shop_${name}_logs`))
})

test('tracing is asked for at the relation', async () => {
  const world = createWorld([workload('StatefulSet', COORDINATOR), service(COORDINATOR)])
  await configure(world)
  await tell(world, TRACING)
  expect(world.published.at(-1)?.data).toMatchObject({ remote: { data: { receivers: '["otlp_http"]' } } })
})

test('a coordinator without a worker routes nothing but its health', async () => {
  const world = await createCluster()
  expect(locations(world)).toEqual(['= /', '= /status', '^~ /proxy/', '/'])
})
