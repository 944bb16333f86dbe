import { defined } from '../../../platform/base/own-value.ts'
import { printValue } from '../../../platform/base/printed.ts'
import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import { hostPort, urlHost } from './hostname.ts'
import { hyphenated } from './paths.ts'
import { mainPort } from './ports.ts'
import { type NginxRoute, problem, uniqueBy } from './route.ts'
import type { Routing } from './routing.ts'
import { metricsRoutes } from './unit-routes.ts'

/** Juju's labels for the source of metrics and logs: the model, the application and the charm. */
export type JujuTopology = {
  readonly model: string
  readonly modelUuid?: string | undefined
  readonly application: string
  readonly charm: string
}

/** A unit of a worker, as in its databag. */
export type WorkerTopology = {
  /** @default the coordinator's namespace */
  readonly namespace?: string | undefined
  readonly application: string
  readonly unit: string
  readonly charm_name: string
  readonly address: string
}

/** A unit of the coordinator, and the host name of its pod. */
export type CoordinatorUnit = { readonly unit: string; readonly hostname: string }

export type ScrapeRequest = {
  readonly routing: Routing
  readonly coordinator: JujuTopology
  readonly topology: readonly WorkerTopology[]
  /** Workers are scraped through the coordinator. */
  readonly proxied: boolean
  readonly nginxExporterPort: number
  readonly coordinatorUnits: readonly CoordinatorUnit[]
}

/** A job in the format of Prometheus' configuration. */
export type ScrapeJob = {
  job_name: string
  metrics_path: string
  scheme?: 'https'
  static_configs: { targets: string[] }[]
  relabel_configs: { target_label: string; replacement: string }[]
}

/**
 * Builds the scrape jobs for Prometheus: one for each worker's unit, then one for the exporter beside each nginx. Exporters are scraped at the name of
 * their pod, because policies let scrapers reach pods, and restrict the Service to paths. An invalid unit is a problem that does not affect the others.
 */
export const scrapeJobs = (request: ScrapeRequest): { jobs: ScrapeJob[]; problems: string[] } => {
  const workers = sortedGroups(request.topology, ({ unit }) => unit).map(([, same]) => workerJobs(same, request))
  const exporters = exporterJobs(request)
  return {
    jobs: [...workers.flatMap(({ jobs }) => jobs), ...exporters.filter((job) => typeof job !== 'string')],
    problems: [...workers.flatMap(({ problems }) => problems), ...exporters.filter((job) => typeof job === 'string')],
  }
}

type Jobs = { readonly jobs: readonly ScrapeJob[]; readonly problems: readonly string[] }

/** Builds the job of one unit, even if its databag was read more than once. */
const workerJobs = (same: readonly WorkerTopology[], request: ScrapeRequest): Jobs => {
  const { routes, problems } = metricsRoutes(same, request.routing)
  const [worker] = uniqueBy(same, ({ charm_name, application }) => `${charm_name} ${application}`)
  return {
    jobs: worker === undefined ? [] : routes.map((route) => workerJob(route, worker, request)),
    problems,
  }
}

const workerJob = (
  { path, backend }: NginxRoute,
  { namespace, application, unit, charm_name: charm }: WorkerTopology,
  { routing, coordinator, proxied }: ScrapeRequest,
): ScrapeJob => {
  const isNear = namespace === undefined || namespace === coordinator.model
  const whose = isNear ? { ...coordinator, application, charm } : { model: namespace, application, charm }
  const target = proxied
    ? hostPort(routing.hostname, mainPort(routing))
    : `${backend.host}:${routing.workerMetricsPort}`
  return job({ unit, whose, target, path: proxied ? path : backend.path, routing })
}

const exporterJobs = ({
  routing,
  coordinator: whose,
  nginxExporterPort,
  coordinatorUnits,
}: ScrapeRequest): (ScrapeJob | string)[] =>
  uniqueBy(coordinatorUnits, ({ unit, hostname }) => `${unit} ${hostname}`).map(({ unit, hostname }) =>
    urlHost(hostname) === undefined
      ? problem(`coordinator ${printValue(unit)}`, 'expected a DNS name or an IP address', hostname)
      : job({ unit, whose, target: hostPort(hostname, nginxExporterPort), path: '/metrics', routing }),
  )

type Scraped = {
  readonly unit: string
  readonly whose: JujuTopology
  readonly target: string
  readonly path: string
  readonly routing: Pick<Routing, 'tls'>
}

/** Builds a job. Its name is unique in a namespace, because unit names are. */
const job = ({ unit, whose, target, path, routing: { tls } }: Scraped): ScrapeJob =>
  defined({
    job_name: `juju_${whose.model}_${hyphenated(unit)}`,
    metrics_path: path,
    scheme: tls ? ('https' as const) : undefined,
    static_configs: [{ targets: [target] }],
    relabel_configs: [
      relabelled('juju_charm', whose.charm),
      relabelled('juju_unit', unit),
      relabelled('juju_application', whose.application),
      relabelled('juju_model', whose.model),
      ...(whose.modelUuid === undefined ? [] : [relabelled('juju_model_uuid', whose.modelUuid)]),
    ],
  })

/**
 * Sets a label by relabelling. Without source labels, `replacement` is the value, and `$$` is one dollar sign. A target label would be overridden by the
 * coordinator's.
 */
const relabelled = (label: string, value: string) => ({
  target_label: label,
  replacement: value.replaceAll('$', '$$$$'),
})
