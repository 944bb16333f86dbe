import { describe, expect, onTestFinished, test } from 'vitest'
import { alertRules } from '../../../../src/features/coordinated-workers/alert-rules.ts'
import { scrapeJobs } from '../../../../src/features/coordinated-workers/nginx/scrape-jobs.ts'
import { until } from '../../../process/helpers.ts'
import { hasOpenssl } from '../../../process/https-server.ts'
import { startMetrics } from './backends.ts'
import { makeCertificate } from './certificate.ts'
import { startDns } from './dns.ts'
import { startNginx } from './nginx.ts'
import { nginxProgram } from './nginx-program.ts'
import { configurationOf, prometheusObjection, startPrometheus } from './prometheus.ts'
import { hasPrometheus } from './prometheus-program.ts'
import { routingOf } from './routing.ts'

const MIMIR = {
  model: 'cos',
  modelUuid: '8f2c63a1-0d5c-4f0e-9a53-0c5d6b7a8e90',
  application: 'mimir',
  charm: 'mimir-coordinator-k8s',
}
const HOSTNAME = 'mimir.cos.svc.cluster.local'
const worker = (number: number) => ({
  application: 'mimir-worker',
  unit: `mimir-worker/${number}`,
  charm_name: 'a "charm" $1 of $$',
  address: `mimir-worker-${number}.mimir-worker-endpoints.cos.svc.cluster.local`,
})
const exporters = [0, 1].map((number) => ({
  unit: `mimir/${number}`,
  hostname: `mimir-${number}.mimir-endpoints.cos.svc.cluster.local`,
}))

describe.skipIf(!hasPrometheus)('Prometheus (skipped without Prometheus and promtool)', () => {
  test.each([
    ['through the coordinator', true, false],
    ['each for itself', false, true],
  ])('Prometheus takes the jobs, %s', async (_, proxied, tls) => {
    const routing = routingOf({ application: 'mimir', hostname: HOSTNAME, tls })
    const request = { routing, coordinator: MIMIR, proxied, nginxExporterPort: 9113, coordinatorUnits: exporters }
    const { jobs } = scrapeJobs({ ...request, topology: [worker(0), worker(1)] })
    expect(jobs).toHaveLength(4)
    expect(await prometheusObjection('config', configurationOf({ jobs, proxy: 'http://proxy' }))).toBeUndefined()
  })

  test('Prometheus takes the rules', async () => {
    const expr = 'sum by (juju_unit) (rate(errors_total{%%juju_topology%%}[5m])) > 1'
    const groups = [{ name: 'errors', interval: '30s', rules: [{ alert: 'Errors', expr, for: '5m' }] }]
    const records = [{ name: 'up', rules: [{ record: 'cluster:up:sum', expr: 'sum(up{%%juju_topology%%})' }] }]
    const workers = [{ ...MIMIR, application: 'mimir-worker', charm: 'a "charm" \\ of $1' }]
    const rules = alertRules({ workers: { metrics: groups }, coordinator: { metrics: records } }, 'metrics', {
      coordinator: MIMIR,
      workers,
    })
    expect(rules?.groups.map(({ name }) => name)).toEqual(['cos_mimir_up', 'cos_mimir-worker_errors'])
    expect(await prometheusObjection('rules', rules ?? {})).toBeUndefined()
  })

  const transports = [
    { transport: 'without TLS', isTls: false },
    { transport: 'with TLS (skipped without openssl)', isTls: true },
  ].filter(({ isTls }) => hasOpenssl || !isTls)

  describe.skipIf(nginxProgram === undefined)('with a real nginx (skipped without one)', () => {
    test.each(transports)('Prometheus with a real nginx scrapes all units, $transport', async ({ isTls }) => {
      const names = [HOSTNAME, ...exporters.map(({ hostname }) => hostname), worker(0).address, worker(1).address]
      const certificate = isTls ? await makeCertificate(...names) : undefined
      const dns = await startDns(() => '127.0.0.1')
      const backend = await startMetrics('worker', certificate)
      const exporter = await startMetrics('exporter', certificate)
      const topology = [worker(0), worker(1)]
      const nginx = await startNginx(
        { resolver: dns.resolver, hostname: HOSTNAME, workers: topology, workerMetricsPort: backend.port },
        certificate,
      )
      const { jobs, problems } = scrapeJobs({
        routing: nginx.routing,
        coordinator: MIMIR,
        topology,
        proxied: true,
        nginxExporterPort: exporter.port,
        coordinatorUnits: exporters,
      })
      expect(problems).toEqual([])
      const prometheus = await startPrometheus({ jobs, ca: certificate?.cert })
      for (const { stop } of [dns, backend, exporter, nginx, prometheus]) onTestFinished(stop)
      await until('all targets are up', async () => (await prometheus.query('up == 1')).length === 4, 30_000)
      const found = await prometheus.query(
        'sum by (at, juju_unit, juju_application, juju_charm, juju_model, juju_model_uuid, job) (kind)',
      )
      const whose = { juju_model: 'cos', juju_model_uuid: MIMIR.modelUuid }
      expect(
        found
          .map(({ labels }) => labels)
          .toSorted((one, other) => `${one.juju_unit}`.localeCompare(`${other.juju_unit}`)),
      ).toEqual([
        ...[0, 1].map((number) => ({
          at: 'worker',
          job: `juju_cos_mimir-worker-${number}`,
          juju_unit: `mimir-worker/${number}`,
          juju_application: 'mimir-worker',
          juju_charm: 'a "charm" $1 of $$',
          ...whose,
        })),
        ...[0, 1].map((number) => ({
          at: 'exporter',
          job: `juju_cos_mimir-${number}`,
          juju_unit: `mimir/${number}`,
          juju_application: 'mimir',
          juju_charm: MIMIR.charm,
          ...whose,
        })),
      ])
    })
  })
})
