import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ScrapeRequest, scrapeJobs } from '../../../../src/features/coordinated-workers/nginx/scrape-jobs.ts'
import { routingOf } from './routing.ts'

const worker = (number: number, address = `mimir-worker-${number}.mimir-worker-endpoints.cos.svc.cluster.local`) => ({
  application: 'mimir-worker',
  unit: `mimir-worker/${number}`,
  charm_name: 'mimir-worker-k8s',
  address,
})

const requestOf = (overrides: Partial<ScrapeRequest> = {}): ScrapeRequest => ({
  routing: routingOf({ application: 'mimir', hostname: 'mimir.cos.svc.cluster.local' }),
  topology: [worker(0)],
  coordinator: { model: 'cos', modelUuid: '8f2c', application: 'mimir', charm: 'mimir-coordinator-k8s' },
  proxied: true,
  nginxExporterPort: 9113,
  coordinatorUnits: [{ unit: 'mimir/0', hostname: 'mimir-0.mimir-endpoints.cos.svc.cluster.local' }],
  ...overrides,
})

const secure = routingOf({ hostname: 'mimir.cos.svc.cluster.local', tls: true })

const EXPORTER = {
  job_name: 'juju_cos_mimir-0',
  metrics_path: '/metrics',
  static_configs: [{ targets: ['mimir-0.mimir-endpoints.cos.svc.cluster.local:9113'] }],
  relabel_configs: [
    { target_label: 'juju_charm', replacement: 'mimir-coordinator-k8s' },
    { target_label: 'juju_unit', replacement: 'mimir/0' },
    { target_label: 'juju_application', replacement: 'mimir' },
    { target_label: 'juju_model', replacement: 'cos' },
    { target_label: 'juju_model_uuid', replacement: '8f2c' },
  ],
}

const RELABEL_CONFIGS = [
  { target_label: 'juju_charm', replacement: 'mimir-worker-k8s' },
  { target_label: 'juju_unit', replacement: 'mimir-worker/0' },
  { target_label: 'juju_application', replacement: 'mimir-worker' },
  { target_label: 'juju_model', replacement: 'cos' },
  { target_label: 'juju_model_uuid', replacement: '8f2c' },
]

describe('a unit that cannot be scraped is named, and the others are', () => {
  test.each([
    ['a bad unit', { ...worker(1), unit: 'x y/0' }, 'worker "x y/0": expected a unit, {application}/{number}'],
    ['no address', worker(1, ''), 'worker "mimir-worker/1": expected a DNS name or an IP address, got ""'],
    [
      'an address and a port',
      worker(1, 'a:80'),
      'worker "mimir-worker/1": expected a DNS name or an IP address, got "a:80"',
    ],
  ])('%s', (_, bad, problem) => {
    const { jobs, problems } = scrapeJobs(requestOf({ topology: [bad, worker(0)] }))
    expect(problems).toEqual([problem])
    expect(jobs).toEqual(scrapeJobs(requestOf()).jobs)
  })

  test('a unit with two addresses has one job', () => {
    const { jobs, problems } = scrapeJobs(requestOf({ topology: [worker(0, 'b'), worker(0, 'a')], proxied: false }))
    expect(jobs[0]?.static_configs).toEqual([{ targets: ['a:8080'] }])
    expect(jobs.length).toBe(2)
    expect(problems).toEqual(['worker "mimir-worker/0": expected one backend only, got "http://b:8080/metrics"'])
  })

  test('a unit of the coordinator', () => {
    const coordinatorUnits = [
      { unit: 'mimir/0', hostname: 'a b' },
      { unit: 'mimir/1', hostname: 'b' },
    ]
    const { jobs, problems } = scrapeJobs(requestOf({ topology: [], coordinatorUnits }))
    expect(jobs).toMatchObject([{ job_name: 'juju_cos_mimir-1', static_configs: [{ targets: ['b:9113'] }] }])
    expect(problems).toEqual(['coordinator "mimir/0": expected a DNS name or an IP address, got "a b"'])
  })
})

test('a worker is scraped through the coordinator, and the exporter beside it', () => {
  expect(scrapeJobs(requestOf())).toEqual({
    jobs: [
      {
        job_name: 'juju_cos_mimir-worker-0',
        metrics_path: '/proxy/worker/mimir-worker-0/metrics',
        static_configs: [{ targets: ['mimir.cos.svc.cluster.local:3300'] }],
        relabel_configs: RELABEL_CONFIGS,
      },
      EXPORTER,
    ],
    problems: [],
  })
})

test('a worker is scraped directly', () => {
  const { jobs } = scrapeJobs(requestOf({ proxied: false }))
  expect(jobs[0]).toEqual({
    job_name: 'juju_cos_mimir-worker-0',
    metrics_path: '/metrics',
    static_configs: [{ targets: ['mimir-worker-0.mimir-worker-endpoints.cos.svc.cluster.local:8080'] }],
    relabel_configs: RELABEL_CONFIGS,
  })
})

test('with TLS all are scraped with it, the proxied workers at its port', () => {
  const { jobs } = scrapeJobs(requestOf({ routing: secure }))
  expect(jobs.map(({ scheme, static_configs }) => ({ scheme, targets: static_configs[0]?.targets }))).toEqual([
    { scheme: 'https', targets: ['mimir.cos.svc.cluster.local:3443'] },
    { scheme: 'https', targets: ['mimir-0.mimir-endpoints.cos.svc.cluster.local:9113'] },
  ])
})

test('each unit of the coordinator has an exporter at its own pod, by its own name', () => {
  const coordinatorUnits = [1, 0, 0].map((number) => ({ unit: `mimir/${number}`, hostname: `mimir-${number}` }))
  expect(scrapeJobs(requestOf({ topology: [], coordinatorUnits })).jobs).toMatchObject([
    { job_name: 'juju_cos_mimir-0', static_configs: [{ targets: ['mimir-0:9113'] }] },
    { job_name: 'juju_cos_mimir-1', static_configs: [{ targets: ['mimir-1:9113'] }] },
  ])
  expect(scrapeJobs(requestOf({ topology: [], coordinatorUnits: [] })).jobs).toEqual([])
})

test('a worker of another namespace has the labels of its own model', () => {
  const { jobs } = scrapeJobs(requestOf({ topology: [{ ...worker(0), namespace: 'far' }] }))
  expect(jobs[0]).toMatchObject({ job_name: 'juju_far_mimir-worker-0' })
  expect(jobs[0]?.relabel_configs.slice(3)).toEqual([{ target_label: 'juju_model', replacement: 'far' }])
})

test.each([
  [80, false],
  [443, true],
])('an IPv6 address is in brackets, and port %i is there with TLS %s', (workerMetricsPort, tls) => {
  const routing = routingOf({ workerMetricsPort, tls })
  const { jobs } = scrapeJobs(requestOf({ routing, topology: [worker(0, 'fd00::1')], proxied: false }))
  expect(jobs[0]?.static_configs).toEqual([{ targets: [`[fd00::1]:${workerMetricsPort}`] }])
})

test('a dollar sign stays one, as Prometheus reads it', () => {
  const { jobs } = scrapeJobs(requestOf({ topology: [{ ...worker(0), charm_name: 'a$1b$$' }] }))
  expect(jobs[0]?.relabel_configs?.[0]?.replacement).toBe('a$$1b$$$$')
})

test('without a UUID there is no label for it', () => {
  const { jobs } = scrapeJobs(requestOf({ coordinator: { model: 'cos', application: 'mimir', charm: 'mimir' } }))
  expect(jobs[0]?.relabel_configs).toEqual(RELABEL_CONFIGS.slice(0, 4))
})

test('the order of the units makes no difference', () => {
  const topology = [
    worker(0),
    worker(0, 'b'),
    worker(1),
    worker(2),
    { ...worker(1), charm_name: 'another' },
    worker(3, ' '),
  ]
  const coordinatorUnits = [0, 1, 2].map((number) => ({ unit: `mimir/${number}`, hostname: `mimir-${number}` }))
  const expected = scrapeJobs(requestOf({ topology, coordinatorUnits }))
  const shuffled = <T>(items: T[]) => fc.shuffledSubarray(items, { minLength: items.length })
  fc.assert(
    fc.property(shuffled(topology), shuffled(coordinatorUnits), (units, coordinators) => {
      expect(scrapeJobs(requestOf({ topology: units, coordinatorUnits: coordinators }))).toEqual(expected)
    }),
  )
})
