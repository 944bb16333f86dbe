import { createHash } from 'node:crypto'
import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import { parseBackend, type TelemetryBackend, urlOf } from './backend.ts'
import { sanitizeHostname } from './hostname.ts'
import { remoteWritePath } from './paths.ts'
import { type NginxRoute, type NginxRoutes, problem, routed } from './route.ts'

/**
 * Names a backend by its host and a hash of its URL, joined by a dot, which no host name here has. Its path depends on its URL alone, so
 * writers keep their path when other backends come and go.
 */
export const remoteWriteRoutes = (endpoints: readonly { readonly url: string }[]): NginxRoutes =>
  routed(
    'remote write',
    endpoints.map(({ url }) => {
      const backend = parseBackend(url)
      if (typeof backend === 'string') return problem('remote write', backend, url)
      return routeNamed(`${hostName(backend)}.${digest(urlOf(backend))}`, backend)
    }),
  )

/**
 * Paths without a hash, as the charm library has them, served for workers that know these: only for unambiguous names. They are not
 * published.
 */
export const formerRemoteWriteRoutes = (routes: readonly NginxRoute[]): NginxRoute[] =>
  sortedGroups(routes, ({ backend }) => hostName(backend)).flatMap(([name, same]) =>
    same.length === 1 ? same.map(({ backend }) => routeNamed(name, backend)) : [],
  )

const routeNamed = (name: string, backend: TelemetryBackend): NginxRoute => ({
  name,
  path: remoteWritePath(name),
  backend,
})

const hostName = ({ host }: TelemetryBackend): string => sanitizeHostname(host.replaceAll(/[[\]]/g, ''))

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)
