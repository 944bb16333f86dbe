import { DNS_LABEL } from '../../../platform/base/names.ts'
import { printValue } from '../../../platform/base/printed.ts'
import { addressBackend, parseBackend, type TelemetryBackend } from './backend.ts'
import { lokiPath, workerMetricsPath } from './paths.ts'
import { type NginxRoute, type NginxRoutes, problem, routed } from './route.ts'
import type { Routing } from './routing.ts'

/** Builds routes to each worker's metrics. They use TLS if the coordinator has certificates, because workers get theirs from it. */
export const metricsRoutes = (
  workers: Routing['workers'],
  { workerMetricsPort: port, tls: isTls }: Routing,
): NginxRoutes =>
  routed(
    'worker',
    workers.map(({ unit, address }) => {
      const backend = addressBackend({ address, port, isTls }, '/metrics')
      return unitRoute(`worker ${printValue(unit)}`, { unit, path: workerMetricsPath(unit), backend, given: address })
    }),
  )

/** Builds routes to the log endpoint of each Loki unit. */
export const loggingRoutes = (logging: Routing['logging']): NginxRoutes =>
  routed(
    'logging',
    logging.map(({ unit, url }) =>
      unitRoute(`logging ${printValue(unit)}`, { unit, path: lokiPath(unit), backend: parseBackend(url), given: url }),
    ),
  )

/** The form of a unit's number. Neither it nor a Kubernetes name has special characters in a path or in nginx.conf. */
const NUMBER = /^[0-9]{1,9}$/

type Wanted = {
  readonly unit: string
  readonly path: string
  readonly backend: TelemetryBackend | string
  readonly given: string
}

const unitRoute = (what: string, { unit, path, backend, given }: Wanted): NginxRoute | string => {
  if (!isUnit(unit)) return `${what}: expected a unit, {application}/{number}`
  return typeof backend === 'string' ? problem(what, backend, given) : { name: unit, path, backend }
}

const isUnit = (unit: string): boolean => {
  const [application = '', number = '', ...rest] = unit.split('/')
  return DNS_LABEL.test(application) && NUMBER.test(number) && rest.length === 0
}
