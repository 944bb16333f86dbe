/** The labels that tell who talked to whom (https://istio.io/latest/docs/reference/config/metrics/). They have no port. */
const LABELS = [
  'reporter',
  ...['source_workload', 'source_workload_namespace', 'source_principal', 'source_canonical_service', 'source_cluster'],
  ...['destination_workload', 'destination_workload_namespace', 'destination_canonical_service', 'destination_cluster'],
  ...['destination_service', 'destination_service_name', 'destination_service_namespace'],
]

/**
 * The expressions for HTTP requests by their code, for all TCP connections, for those that a policy refused, and for the seconds since which proxies are
 * scraped.
 */
type Expressions = {
  readonly http: string
  readonly tcp: string
  readonly denied: string
  readonly covered: string
  /** The same by the counters of traffic. It reads all of them, and is for a Prometheus that keeps no other metric of proxies. */
  readonly counted: string
}

/** Writes the expressions for the traffic to a namespace in the last `seconds`. */
export const expressionsFor = (namespace: string, seconds: number): Expressions => {
  const increased = (metric: string, matcher = ''): string =>
    selectorsOf(namespace)
      .map((selector) => increaseOf(`${metric}{${selector}${matcher}}`, seconds))
      .join(' or ')
  const summed = (expression: string, ...labels: string[]): string =>
    `sum by (${[...LABELS, ...labels].join(', ')}) (${expression})`
  const isDenied = ',response_flags="DENY"'
  return {
    http: summed(increased('istio_requests_total'), 'response_code'),
    // a ztunnel counts a connection as opened before policies decide on it
    tcp: summed(increased('istio_tcp_connections_opened_total')),
    // a ztunnel that does not count failures counts the end of a refused connection, with the same labels
    denied: summed(
      `(${increased('istio_tcp_connections_failed_total', isDenied)}) or (${increased('istio_tcp_connections_closed_total', isDenied)})`,
    ),
    // each proxy has this metric; istiod has it as well, and counts no traffic
    covered: earliestOf('timestamp(istio_build{component=~"proxy|ztunnel"})', seconds),
    counted: earliestOf('(group(istio_requests_total or istio_tcp_connections_opened_total) * time())', seconds),
  }
}

/** Returns the age of the oldest time that is seen. Of what is new nothing is seen at the steps of the past. */
const earliestOf = (seen: string, seconds: number): string =>
  `time() - min(min_over_time(${seen}[${seconds}s:${Math.ceil(seconds / 100)}s]) or ${seen})`

/**
 * Returns selectors that share no series. A waypoint that refuses a request knows no workload, and says its own namespace as that of the Service: then the
 * name of the host tells.
 */
const selectorsOf = (namespace: string): string[] => {
  const ofService = `destination_workload_namespace!="${namespace}",destination_service_namespace`
  return [
    `destination_workload_namespace="${namespace}"`,
    `${ofService}="${namespace}"`,
    `${ofService}!="${namespace}",destination_service=~"[^.]+[.]${namespace}([.]svc([.].*)?)?(:[0-9]+)?"`,
  ]
}

/**
 * Counts a new series from zero: `increase` alone needs two samples, and leaves out the first one. It would miss a client that was refused once. A series is
 * new if it came in the window. If its proxy was not scraped before, it may have counted since long ago: then its first sample counts only if it is all.
 */
export const increaseOf = (series: string, seconds: number): string => {
  const window = `[${seconds}s]`
  const [grown, reached] = [`increase(${series}${window})`, `max_over_time(${series}${window})`]
  const fresh = `(${reached} unless max_over_time(${series}${window} offset ${seconds}s))`
  const scraped = `max by (job, instance) (count_over_time(istio_build${window}))`
  const later = `(${fresh} and (count_over_time(${series}${window}) < on (job, instance) group_left () ${scraped}))`
  return `(${grown} > ${later} or ${later} or ${grown} > 0 or ${fresh})`
}
