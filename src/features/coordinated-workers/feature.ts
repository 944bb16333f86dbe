import type { Feature, FeatureInput } from '../../core/feature/feature.ts'
import type { CoordinatorConfig } from './config.ts'
import { clusterDesiredState, clusterRequesters, clusterStatus, dependsOnUnknown } from './desired-state.ts'
import { expressionIssues } from './gateway-config.ts'
import { coordinatedWorkersConfig } from './schema.ts'
import { clusterPorts, selectWorkerPorts } from './settings.ts'
import { clusterLookups, findSurroundings, isPublishingUnits } from './surroundings.ts'

const desiredStateFor = ({ subject, resolved: { state }, environment, seen }: FeatureInput) =>
  clusterDesiredState(subject, state, findSurroundings(environment, subject, state, seen))

/** Lists the ports that policies open inside the cluster with `leastPrivilege`. */
const openPorts = (config: CoordinatorConfig) => [clusterPorts(config), selectWorkerPorts(config, config.roles)]

/** The feature for coordinators and workers: the data that they exchange, the policies inside their cluster, and its telemetry. */
export const coordinatedWorkers = {
  name: 'coordinated-workers',
  config: coordinatedWorkersConfig,
  // the cluster's policies select pods by a label that any application may set
  effects: (_subject, { coordinator }) =>
    coordinator ? { policies: { cluster: coordinator.leastPrivilege ?? false, ports: openPorts(coordinator) } } : {},
  problems: ({ coordinator }) => expressionIssues(coordinator?.nginx),
  kinds: ({ config: { coordinator } = {} }) => [
    ...(coordinator ? (['AuthorizationPolicy'] as const) : []),
    ...(coordinator?.telemetryProxy || coordinator?.nginx ? (['ConfigMap'] as const) : []),
  ],
  lookups: (subject, { state }) => clusterLookups(subject, state),
  desire: (input) => {
    const { state } = input.resolved
    const { databags: _, annotations, ...desired } = desiredStateFor(input)
    const isUnknown = dependsOnUnknown(input.resolved)
    return {
      ...desired,
      annotations: { labels: annotations, unknown: isUnknown ? 'all' : [], inherited: {} },
      unknownRequests: isUnknown ? clusterRequesters(input.subject, state) : [],
    }
  },
  publications: (input) => desiredStateFor(input).databags,
  keeps: dependsOnUnknown,
  // a worker with unknown data keeps the data published to it
  withdrawsNothing: ({ config }, { role }) => config?.coordinator !== undefined && role === 'provides',
  dependsOnUnits: (state) => isPublishingUnits(state) || state.config?.coordinator?.reload !== undefined,
  reports: (subject, { state }) => {
    const status = clusterStatus(subject, state)
    return status === undefined ? [] : [status]
  },
} satisfies Feature
