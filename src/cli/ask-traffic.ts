import { type Command, Option } from 'commander'
import { observe } from '../ask/traffic/observe.ts'
import { createPrometheus } from '../ask/traffic/prometheus.ts'
import { PrometheusUrl } from '../ask/traffic/prometheus-url.ts'
import { secondsIn } from '../ask/traffic/time.ts'
import type { TrafficView } from '../ask/traffic/traffic.ts'
import { Failure } from './failure.ts'
import { parserOf } from './options.ts'
import { ErrorAnswer, type Query, type Server, withQuery } from './server.ts'

/** The options that `withPrometheus` adds. */
export type PrometheusOptions = {
  readonly prometheus?: string
  readonly prometheusTokenFile?: string
  readonly prometheusHeadersFile?: string
  readonly prometheusCaFile?: string
}

/** Adds the options for a Prometheus that the command asks itself. */
export const withPrometheus = (command: Command): Command =>
  command
    .addOption(
      new Option('--prometheus <url>', 'the Prometheus to ask for traffic; else the functions ask theirs')
        .env('PROMETHEUS_URL')
        .argParser(parserOf(PrometheusUrl)),
    )
    .addOption(new Option('--prometheus-token-file <path>', 'a bearer token for it').env('PROMETHEUS_TOKEN_FILE'))
    .addOption(
      new Option('--prometheus-headers-file <path>', 'headers for it, as `Name: value` lines').env(
        'PROMETHEUS_HEADERS_FILE',
      ),
    )
    .addOption(new Option('--prometheus-ca-file <path>', 'certificates of its authority').env('PROMETHEUS_CA_FILE'))

type Asked = { readonly namespace: string; readonly window: string }

/** Asks for the traffic to a namespace in a window that is valid: the given Prometheus, else that of the functions. */
export const askTraffic = (server: Server, options: PrometheusOptions, asked: Asked): Promise<TrafficView> =>
  askAbout(server, options, '/traffic', asked)

/** Asks a question about traffic: with what the given Prometheus knows, else with what that of the functions does. */
export const askAbout = async <T>(
  server: Server,
  {
    prometheus: url,
    prometheusTokenFile: tokenFile,
    prometheusHeadersFile: headersFile,
    prometheusCaFile: caFile,
  }: PrometheusOptions,
  path: string,
  asked: Asked & Query,
): Promise<T> => {
  if (url === undefined) return await server.get<T>(path, asked)
  const query = createPrometheus({ url, tokenFile, headersFile, caFile })
  const observed = await observe(query, asked.namespace, secondsIn(asked.window))
  try {
    return await server.post<T>(withQuery(path, asked), 'application/json', JSON.stringify(observed))
  } catch (error) {
    if (error instanceof ErrorAnswer && error.status === 413) throw tooMuch(asked.namespace, error)
    throw error
  }
}

const tooMuch = (namespace: string, cause: Error): Failure =>
  new Failure(
    `the traffic to ${namespace} is more than one question may carry: ask for a shorter --window, or set PROMETHEUS_URL for the functions, so that they ask`,
    1,
    { cause },
  )
