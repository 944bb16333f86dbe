import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { ScrapeJob } from '../../src/features/coordinated-workers/nginx/scrape-jobs.ts'
import { startMetrics } from '../features/coordinated-workers/nginx/backends.ts'
import { send } from '../features/coordinated-workers/nginx/clients.ts'
import { startDns } from '../features/coordinated-workers/nginx/dns.ts'
import { freePorts, serveFile } from '../features/coordinated-workers/nginx/nginx.ts'
import { nginxProgram } from '../features/coordinated-workers/nginx/nginx-program.ts'
import { prometheusObjection, startPrometheus } from '../features/coordinated-workers/nginx/prometheus.ts'
import { hasPrometheus } from '../features/coordinated-workers/nginx/prometheus-program.ts'
import { serveExample, settle, until } from './helpers.ts'
import { answerTo, commandsOf, textOf } from './pages.ts'

type ConfigMap = { data: Record<string, string> }

type Databags = Record<string, { data: Record<string, string> }>

/** The key of a state in which the page's own command looks for scrape jobs. */
const keyOnPage = (): string => /\(\.(\w+)\[\]\.data\.scrape_jobs/.exec(textOf('how-to/loki-cluster.md'))?.[1] ?? ''

/** Takes the page's way up to where the mesh goes, and answers with what there is then. */
const takeTutorial = async () => {
  const server = await serveExample()
  const { url } = await server.logged('embedded Kubernetes API')
  for (const command of commandsOf('how-to/loki-cluster.md').slice(0, -1))
    expect((await answerTo(command, server.url)).code).toBe(200)
  await settle(server)
  const find = async (name: string): Promise<ConfigMap> =>
    (await (await fetch(`${url}/api/v1/namespaces/loki/configmaps/${name}`)).json()) as ConfigMap
  const saidBy = async (application: string, key: string): Promise<unknown> => {
    const { data } = await find(`juju-service-mesh-${application}-labels`)
    const databags = (JSON.parse(data.state ?? '') as Record<string, Databags>)[keyOnPage()]
    return Object.values(databags ?? {}).flatMap((said) => said.data[key] ?? [])[0]
  }
  const file = (await find('loki-nginx')).data['nginx.conf'] ?? ''
  const published = async (key: string) => JSON.parse(String(await saidBy('loki', key)))
  return {
    file,
    jobs: (await published('scrape_jobs')) as ScrapeJob[],
    rules: await published('alert_rules'),
    logging: (await published('loki_endpoints')) as Record<string, string>,
    stop: () => server.end('SIGTERM'),
  }
}

/** A worker of Loki: its metrics, and an API that answers with what it was asked. */
const startWorker = async () => {
  const server = createServer(({ method, url }, response) =>
    response.end(url === '/metrics' ? '# TYPE kind gauge\nkind{at="worker"} 1\n' : `${method} ${url}`),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test.skipIf(nginxProgram === undefined || !hasPrometheus)(
  'a cluster from nothing serves its API and is scraped, by a real nginx and Prometheus (skipped without them)',
  { timeout: 120_000 },
  async () => {
    const { file, jobs, rules, logging, stop } = await takeTutorial()
    expect(await prometheusObjection('config', { scrape_configs: jobs })).toBeUndefined()
    expect(await prometheusObjection('rules', rules)).toBeUndefined()

    const asked: string[] = []
    const dns = await startDns((name) => {
      asked.push(name)
      return name.endsWith('.loki.svc.cluster.local') ? '127.0.0.1' : undefined
    })
    const exporter = await startMetrics('exporter', undefined)
    const [telemetry, worker] = [await freePorts(2), await startWorker()]
    const api = telemetry + 1
    // all pods are this machine, where ports are as they are free
    const moved = file
      .replace(/resolver [^;]*;/, `resolver ${dns.resolver} ipv6=off;`)
      .replaceAll(/svc\.cluster\.local:3100/g, `svc.cluster.local:${worker}`)
      .replace('listen 8080;', `listen ${telemetry};`)
      .replace('listen 3100;', `listen ${api};`)
      .replaceAll(/listen \[::\].*;/g, '')
    const nginx = await serveFile(moved, telemetry)
    const ask = async (path: string, port = api) => (await send(`http://127.0.0.1:${port}${path}`)).text
    expect(await ask('/loki/api/v1/push')).toBe('GET /loki/api/v1/push')
    expect(await ask('/loki/api/v1/query?query=%7B%7D')).toBe('GET /loki/api/v1/query?query=%7B%7D')
    expect(await ask('/loki/api/v1/rules/a')).toBe('GET /loki/api/v1/rules/a')
    expect(new Set(asked)).toEqual(
      new Set(['read', 'write', 'backend'].map((role) => `loki-${role}-endpoints.loki.svc.cluster.local`)),
    )
    const { pathname } = new URL(logging['logs/0'] ?? '')
    expect(pathname).toBe('/proxy/loki/logs-0/push')
    expect(await ask(pathname, telemetry)).toBe('GET /loki/api/v1/push')

    const ports: Record<string, number> = { '8080': telemetry, '9113': exporter.port }
    const here = jobs.map((job) => ({
      ...job,
      static_configs: job.static_configs.map(({ targets }) => ({
        targets: targets.map((target) => target.replace(/\d+$/, (port) => `${ports[port]}`)),
      })),
    }))
    const prometheus = await startPrometheus({ jobs: here })
    for (const one of [dns, exporter, nginx, prometheus, { stop }]) onTestFinished(async () => void (await one.stop()))
    await until('all targets are up', async () => (await prometheus.query('up == 1')).length === jobs.length, 30_000)
    const found = await prometheus.query('kind')
    expect(found.map(({ labels }) => `${labels.juju_unit} ${labels.juju_model} ${labels.at}`).toSorted()).toEqual([
      'loki-backend/0 loki worker',
      'loki-read/0 loki worker',
      'loki-write/0 loki worker',
      'loki/0 loki exporter',
    ])
  },
)
