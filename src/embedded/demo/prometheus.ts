import type { Answer, Request } from '../api/api.ts'

const client = (namespace: string, name: string) => ({
  source_workload_namespace: namespace,
  source_workload: name,
  source_principal: `spiffe://cluster.local/ns/${namespace}/sa/${name}`,
})

const details = { destination_service: 'details.bookinfo.svc.cluster.local', destination_service_namespace: 'bookinfo' }

/** The increase of each metric in an hour, by the proxy of the destination. */
const EACH_HOUR: readonly [metric: string, labels: Readonly<Record<string, string>>, value: number][] = [
  ['istio_requests_total', { ...client('bookinfo', 'productpage'), ...details, response_code: '200' }, 720],
  ['istio_requests_total', { ...client('tempo', 'tempo'), ...details, response_code: '200' }, 240],
  ['istio_requests_total', { ...client('default', 'sleep'), ...details, response_code: '403' }, 3],
]

const COUNTER = 'envoy_http_inbound_0_0_0_0_9080_rbac'

/** The labels of what dry runs at the waypoint of `beacon` would have refused. */
const WOULD_REFUSE = { namespace: 'bookinfo', gateway_networking_k8s_io_gateway_name: 'bookinfo-beacon-waypoint' }

const WEEK = 7 * 86_400

const seriesFor = (query: string) => {
  const seconds = Number(/\[(\d+)s/.exec(query)?.[1] ?? 0)
  if (query.includes('timestamp(istio_build')) return [{ metric: {}, value: [0, `${Math.min(seconds, WEEK)}`] }]
  if (query.startsWith('count by (__name__)')) return [{ metric: { __name__: COUNTER }, value: [0, '1'] }]
  if (query.includes(COUNTER)) {
    const metric = { ...WOULD_REFUSE, counter: COUNTER, authz_dry_run_action: 'allow' }
    return [{ metric, value: [0, `${(240 * seconds) / 3_600}`] }]
  }
  if (!query.includes('"bookinfo"')) return []
  return EACH_HOUR.filter(([metric]) => query.includes(metric)).map(([_, labels, value]) => ({
    metric: { reporter: 'waypoint', ...labels },
    value: [0, `${Math.round((value * seconds) / 3_600)}`],
  }))
}

/** The path of the example's Prometheus, beside the Kubernetes API. */
export const PROMETHEUS_PATH = '/prometheus'

/**
 * Answers as the Prometheus of a mesh on which `bookinfo` has run for a week with the same traffic in each hour. It knows only the queries of the question
 * about traffic.
 */
export const demoPrometheus = ({ path, body = '' }: Request): Answer | undefined =>
  path.startsWith(`${PROMETHEUS_PATH}/`)
    ? {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          status: 'success',
          data: { resultType: 'vector', result: seriesFor(new URLSearchParams(body).get('query') ?? '') },
        }),
      }
    : undefined
