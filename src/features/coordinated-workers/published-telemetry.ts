import type { OwnSide } from '../../core/feature/feature.ts'
import { relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { defined } from '../../platform/base/own-value.ts'
import { pythonJson } from '../../platform/base/python-json.ts'
import { sortedGroups } from '../../platform/base/sorted-groups.ts'
import { alertRules } from './alert-rules.ts'
import type { CoordinatorConfig } from './config.ts'

import type { Routing } from './nginx/routing.ts'
import { type CoordinatorUnit, type JujuTopology, scrapeJobs, type WorkerTopology } from './nginx/scrape-jobs.ts'
import { clusterPorts, endpointNames } from './settings.ts'
import type { Topology } from './topology.ts'

type Input = {
  readonly relations: EffectiveState['relations']
  readonly config: CoordinatorConfig
  readonly routing: Routing & { readonly isProxied: boolean }
  /** The workers that are routed. */
  readonly workers: readonly WorkerTopology[]
  readonly topology: Topology
  readonly coordinator: JujuTopology
  readonly coordinatorUnits: readonly CoordinatorUnit[]
}

/** Builds the coordinator's databags by relation key, for `prometheus_scrape` (jobs, topology, rules) and `loki_push_api` (topology, rules). */
export const publishedTelemetry = (
  input: Input,
): { databags: Record<string, OwnSide>; problems: readonly string[] } => {
  const { relations, config, routing, workers, coordinator, coordinatorUnits } = input
  const { metrics, logging } = endpointNames(config)
  const { jobs, problems } = scrapeJobs({
    routing,
    coordinator,
    topology: workers,
    proxied: routing.isProxied,
    nginxExporterPort: clusterPorts(config).nginxExporter,
    coordinatorUnits,
  })
  const metadata = metadataOf(coordinator)
  const scraped = { scrape_jobs: pythonJson(jobs), scrape_metadata: metadata, ...rulesFor('metrics', input) }
  const logged = rulesFor('logs', input)
  return {
    databags: Object.fromEntries([
      ...relationsWith(relations, { role: 'provides', endpoint: metrics }).map(({ key }) => [key, { data: scraped }]),
      ...relationsWith(relations, { role: 'requires', endpoint: logging }).map(({ key }) => [
        key,
        { data: { metadata, ...logged } },
      ]),
    ]),
    problems,
  }
}

const metadataOf = ({ model, modelUuid, application, charm }: JujuTopology): string =>
  pythonJson(defined({ model, model_uuid: modelUuid, application, charm_name: charm }))

const rulesFor = (kind: 'metrics' | 'logs', { config, topology, coordinator }: Input): { alert_rules?: string } => {
  const workers = sortedGroups(topology.units, ({ namespace, application }) => `${namespace} ${application}`)
  const rules = alertRules(config.alertRules, kind, {
    coordinator,
    workers: workers.flatMap(([, same]) =>
      same.slice(0, 1).map(({ namespace, application, charm_name: charm }) => ({
        ...(namespace === coordinator.model ? coordinator : { model: namespace }),
        application,
        charm,
      })),
    ),
  })
  return rules === undefined ? {} : { alert_rules: pythonJson(rules) }
}
