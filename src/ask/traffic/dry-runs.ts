import { GATEWAY_NAME } from '../authorization/pods.ts'
import { increaseOf } from './expressions.ts'
import { type QueryPrometheus, rounded, type Series } from './prometheus.ts'

/**
 * The requests, or connections of TCP, of all clients that the dry runs at a port of a waypoint would have refused. The proxy decides on ALLOW and DENY
 * policies apart, so one request may be in both counts.
 */
export type WouldRefuse = {
  /** `namespace/name` */
  readonly waypoint: string
  /** Absent for TCP. */
  readonly port?: number
  /** No dry run of the action ALLOW matched. */
  readonly allow: number
  /** A dry run of the action DENY matched. */
  readonly deny: number
}

/** Envoy's counters of https://istio.io/latest/docs/tasks/security/authorization/authz-dry-run/. Their names have the port. */
const COUNTERS = '{__name__=~"envoy_.*rbac",authz_dry_run_result="denied"}'

/** Returns the label of Prometheus for a label of a pod. */
const labelOf = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, '_')

/** The labels that tell the proxy, as Prometheus gives them to what it scrapes. They have neither a client nor a Service. */
const LABELS = ['namespace', 'kubernetes_namespace', 'pod', 'pod_name', 'kubernetes_pod_name', labelOf(GATEWAY_NAME)]

const OTHERS = ['authz_dry_run_action', 'http_conn_manager_prefix']

/** The limit of counters, one for each port. */
const MOST_COUNTERS = 50

/** Reads the counters of all waypoints in the last `seconds`. Resolves to undefined if Prometheus has none. */
export const observeDryRuns = async (query: QueryPrometheus, seconds: number): Promise<Series[] | undefined> => {
  const known = await query(`count by (__name__) (last_over_time(${COUNTERS}[${seconds}s]))`)
  const names = known.flatMap(({ labels: { __name__: name = '' } }) => (/^\w+$/.test(name) ? [name] : []))
  if (names.length === 0) return undefined
  // an increase has no name, so two counters in one would be one series twice
  const each = names.slice(0, MOST_COUNTERS).map((name) => {
    const increased = increaseOf(`${name}{authz_dry_run_result="denied"}`, seconds)
    return `label_replace(sum by (${[...LABELS, ...OTHERS].join(', ')}) (${increased}), "counter", "${name}", "", "")`
  })
  return await query(each.join(' or '))
}

/** Reads how much the dry runs at the given waypoints, `namespace/name`, would have refused. Other proxies are left out. */
export const readDryRuns = (series: readonly Series[], waypoints: readonly string[]): WouldRefuse[] => {
  const found = series.flatMap(({ labels, value }) => {
    const waypoint = waypointIn(labels, waypoints)
    return waypoint === undefined
      ? []
      : [{ waypoint, port: portIn(labels), action: labels.authz_dry_run_action, value }]
  })
  return [...Map.groupBy(found, ({ waypoint, port }) => `${waypoint} ${port}`).values()]
    .flatMap((some) => {
      const [first] = some
      const count = (action: string) =>
        rounded(some.reduce((all, one) => (one.action === action ? all + one.value : all), 0))
      return first === undefined
        ? []
        : [
            {
              waypoint: first.waypoint,
              ...(first.port !== undefined && { port: first.port }),
              ...{ allow: count('allow'), deny: count('deny') },
            },
          ]
    })
    .toSorted((one, other) => one.waypoint.localeCompare(other.waypoint) || (one.port ?? 0) - (other.port ?? 0))
}

/** A pod of a waypoint has its name before two generated parts. */
const waypointIn = (labels: Series['labels'], waypoints: readonly string[]): string | undefined => {
  const namespace = labels.namespace || labels.kubernetes_namespace
  const gateway = labels[labelOf(GATEWAY_NAME)]
  const pod = labels.pod || labels.pod_name || labels.kubernetes_pod_name || ''
  const name = gateway || pod.replace(/-[a-z0-9]+-[a-z0-9]+$/, '')
  return waypoints.find((one) => one === `${namespace}/${name}`)
}

/** Both the name of the counter and the prefix of newer proxies end with the port: `envoy_http_inbound_0_0_0_0_80_rbac`, `inbound_0.0.0.0_80;` */
const portIn = ({ counter = '', http_conn_manager_prefix: prefix = '' }: Series['labels']): number | undefined => {
  const [, port] = /_(\d+)(?:_+rbac|;?)$/.exec(prefix || counter) ?? []
  return port === undefined ? undefined : Number(port)
}

/** Says for people what waypoints counted, and what the estimate is worth. */
export const auditNotes = (window: string, counted: readonly WouldRefuse[] | undefined): string[] => [
  ...(counted === undefined
    ? ['Prometheus has no counts of what dry runs would have refused.']
    : counted.every(({ allow, deny }) => allow + deny === 0)
      ? [`Waypoints counted nothing in the last ${window} that dry runs would have refused.`]
      : counted.flatMap((one) => countText(one, window))),
  'IF ENFORCED is an estimate: the policies of now, as if dry runs were enforced, decide on what was seen. Policies at pods have no dry runs, and are not in it.',
]

const countText = ({ waypoint, port, allow, deny }: WouldRefuse, window: string): string[] => {
  if (allow + deny === 0) return []
  const where = `The waypoint ${waypoint} counted${port === undefined ? ' of TCP' : ` on port ${port}`}`
  const parts = [
    ...(allow > 0 ? [`${allow} that no ALLOW matched`] : []),
    ...(deny > 0 ? [`${deny} that a DENY matched`] : []),
  ]
  return [
    `${where} in the last ${window} what dry runs would have refused, of all its clients and Services: ${parts.join(', ')}.`,
  ]
}
