import { shown } from '../../mesh/problem.ts'
import { groups } from '../../policies/groups.ts'
import { hostPort, urlHost } from './hostname.ts'
import { mainPort } from './ports.ts'
import { problem, type Route } from './route.ts'
import type { Routing } from './routing.ts'
import { unique } from './unique.ts'
import { metricsRoutes } from './unit-routes.ts'

/** A unit of a worker, as its databag says. */
export type WorkerTopology = {
  readonly application: string
  readonly unit: string
  readonly charm_name: string
  readonly address: string
}

/** A unit of the coordinator, and where its own pod is reached. */
export type CoordinatorUnit = { readonly unit: string; readonly hostname: string }

export type ScrapeRequest = {
  readonly routing: Routing
  readonly topology: readonly WorkerTopology[]
  readonly model: string
  readonly modelUuid?: string | undefined
  /** Whether workers are scraped through the coordinator. */
  readonly proxied: boolean
  readonly nginxExporterPort: number
  /** @default one that nothing is known of, at the routing's hostname */
  readonly coordinatorUnits?: readonly CoordinatorUnit[] | undefined
}

/** As Prometheus has it in its configuration. */
export type ScrapeJob = {
  metrics_path?: string
  static_configs: { targets: string[]; labels?: Record<string, string> }[]
  relabel_configs?: { target_label: string; replacement: string }[]
  scheme?: 'https'
}

/**
 * What Prometheus has to scrape: each worker, by unit, then the exporter of each nginx, by unit. A unit that cannot be scraped is a problem
 * and stops no other.
 */
export const scrapeJobs = (request: ScrapeRequest): { jobs: ScrapeJob[]; problems: string[] } => {
  const workers = groups(request.topology, ({ unit }) => unit).map(([, same]) => workerJobs(same, request))
  const exporters = exporterJobs(request)
  return {
    jobs: [...workers.flatMap(({ jobs }) => jobs), ...exporters.filter((job) => typeof job !== 'string')],
    problems: [...workers.flatMap(({ problems }) => problems), ...exporters.filter((job) => typeof job === 'string')],
  }
}

type Jobs = { readonly jobs: readonly ScrapeJob[]; readonly problems: readonly string[] }

/** The job of one unit, whose databag may have been read more than once. */
const workerJobs = (same: readonly WorkerTopology[], request: ScrapeRequest): Jobs => {
  const { routes, problems } = metricsRoutes(same, request.routing)
  const [worker] = unique(same, ({ charm_name, application }) => `${charm_name} ${application}`)
  return {
    jobs: worker === undefined ? [] : routes.map((route) => workerJob(route, worker, request)),
    problems,
  }
}

const workerJob = (
  { path, backend }: Route,
  { application, unit, charm_name }: WorkerTopology,
  { routing, model, modelUuid, proxied }: ScrapeRequest,
): ScrapeJob => ({
  metrics_path: proxied ? path : backend.path,
  static_configs: [
    {
      targets: [
        proxied ? hostPort(routing.hostname, mainPort(routing)) : `${backend.host}:${routing.workerMetricsPort}`,
      ],
    },
  ],
  relabel_configs: [
    relabelled('juju_charm', charm_name),
    relabelled('juju_unit', unit),
    relabelled('juju_application', application),
    relabelled('juju_model', model),
    ...(modelUuid === undefined ? [] : [relabelled('juju_model_uuid', modelUuid)]),
  ],
  ...scheme(routing),
})

/** Without source labels, `replacement` is the value; two dollar signs are one. Labels of a target would give way to the coordinator's. */
const relabelled = (label: string, value: string) => ({
  target_label: label,
  replacement: value.replaceAll('$', '$$$$'),
})

const exporterJobs = ({ routing, nginxExporterPort, coordinatorUnits }: ScrapeRequest): (ScrapeJob | string)[] => {
  const job = (hostname: string, labels?: Record<string, string>): ScrapeJob => ({
    static_configs: [{ targets: [hostPort(hostname, nginxExporterPort)], ...(labels && { labels }) }],
    ...scheme(routing),
  })
  if (coordinatorUnits === undefined) return [job(routing.hostname)]
  return unique(coordinatorUnits, ({ unit, hostname }) => `${unit} ${hostname}`).map(({ unit, hostname }) =>
    urlHost(hostname) === undefined
      ? problem(`coordinator ${shown(unit)}`, 'expected a DNS name or an IP address', hostname)
      : job(hostname, { juju_unit: unit }),
  )
}

const scheme = ({ tls }: Routing): { scheme?: 'https' } => (tls ? { scheme: 'https' } : {})
