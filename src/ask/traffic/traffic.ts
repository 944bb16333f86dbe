import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { graphOf } from '../views/graph.ts'
import { type Classified, classify, pairsOf } from './classify.ts'
import type { Cluster } from './cluster.ts'
import { auditNotes, readDryRuns, type WouldRefuse } from './dry-runs.ts'
import { type Flow, type Observed, readFlows } from './flows.ts'
import { observe } from './observe.ts'
import { createPrometheus, type PrometheusSettings } from './prometheus.ts'
import { isCovered, secondsIn, timeText } from './time.ts'

export { readingLists } from '../views/listed.ts'
export { readTrafficCluster } from './cluster.ts'

/** The traffic to a namespace. */
export type TrafficView = {
  readonly namespace: string
  /** As it was asked for, such as `1h`. */
  readonly window: string
  /** The part of the window since which Prometheus has scraped proxies. Absent where it has scraped none. */
  readonly coveredSeconds?: number
  readonly flows: readonly Classified[]
  /** The targets that are all on the mesh now, so that proxies report all traffic to them. */
  readonly onMesh: readonly string[]
  /** The names that mean the same pods, where a controller or its Services have different ones. */
  readonly samePods?: readonly (readonly string[])[]
  /** The requests that dry runs would have refused, as the waypoints counted them. Absent without dry runs, and without their counters. */
  readonly wouldRefuse?: readonly WouldRefuse[]
  /** Sentences for people about what the flows do not say. */
  readonly notes: readonly string[]
}

type Asked = {
  readonly namespace: string
  readonly window: string
  /** The series that were observed, or where to ask for them. */
  readonly source: Observed | PrometheusSettings
}

/** Reads who talked to the applications of a namespace, and if a relation and a policy stand for it. Rejects as a query of Prometheus does. */
export const observeTraffic = async (
  { namespace, window, source }: Asked,
  readCluster: () => Promise<Cluster>,
): Promise<TrafficView> => {
  const [observed, { views, gateways, onMesh, samePods, access, ifEnforced, waypoints: own }] = await Promise.all([
    'url' in source ? observe(createPrometheus(source), namespace, secondsIn(window)) : source,
    readCluster(),
  ])
  const { nodes, edges } = graphOf(views)
  const applications = new Set(nodes.map(({ id }) => id))
  const waypoints = new Set(
    gateways.filter(isWaypoint).map(({ metadata: { namespace, name } }) => `${namespace}/${name}`),
  )
  const { flows, hops } = readFlows(observed, { namespace, applications, waypoints })
  const known = await decided([...flows, ...pairsOf(edges, namespace)], access)
  const enforced = ifEnforced && (await decided(flows, ifEnforced))
  const classified = classify(flows, namespace, {
    related: edges,
    access: (from, to) => known(from, to) ?? 'unknown',
    ...(enforced && { ifEnforced: enforced }),
  })
  const { coveredSeconds, dryRuns } = observed
  const wouldRefuse = ifEnforced && dryRuns && readDryRuns(dryRuns, own)
  return {
    ...{ namespace, window, ...(coveredSeconds !== undefined && { coveredSeconds }), flows: classified, onMesh },
    ...(samePods.length > 0 && { samePods }),
    ...(wouldRefuse && { wouldRefuse }),
    notes: [
      ...coverage(window, observed),
      ...notesOf(classified, hops),
      ...(ifEnforced ? auditNotes(window, wouldRefuse) : []),
    ],
  }
}

/** Decides on each pair once. */
const decided = async <T>(
  pairs: readonly Pick<Flow, 'from' | 'to'>[],
  decide: (from: string | undefined, to: string) => Promise<T>,
) => {
  const known = new Map<string, T>()
  for (const { from, to } of pairs)
    if (!known.has(`${from} ${to}`)) known.set(`${from} ${to}`, await decide(from === 'unknown' ? undefined : from, to))
  return (from: string, to: string): T | undefined => known.get(`${from} ${to}`)
}

/** Says what keeps an absent flow from being silence. */
const coverage = (window: string, { coveredSeconds, http, tcp }: Observed): string[] => {
  if (coveredSeconds === undefined)
    return http.length + tcp.length > 0
      ? []
      : [
          'Prometheus knows no proxy of Istio (it has no istio_build of one, and no counter of traffic): does it scrape the mesh? Nothing is known to be silent.',
        ]
  return isCovered(window, coveredSeconds)
    ? []
    : [`Prometheus has scraped proxies for ${timeText(coveredSeconds)} only: what is silent may have been used before.`]
}

const isWaypoint = ({ spec, metadata: { labels } }: KubernetesObject): boolean =>
  String(spec?.gatewayClassName).includes('waypoint') || labels?.['istio.io/waypoint-for'] !== undefined

const notesOf = (flows: readonly Classified[], hops: number): string[] => {
  const clusters = [...new Set(flows.flatMap(({ toCluster }) => toCluster ?? []))].toSorted()
  return [
    ...(flows.length > 0 ? ['Istio’s metrics name no port: a class is about all ports of a target together.'] : []),
    ...(hops > 0
      ? [`${hops} connections to and from waypoints carry what the waypoints report, and are not listed.`]
      : []),
    ...(clusters.length > 1
      ? [
          `Targets are in the clusters ${clusters.join(', ')}; relations and access are those of the cluster that answers.`,
        ]
      : []),
  ]
}
