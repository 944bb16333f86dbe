import { createHash } from 'node:crypto'
import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import { parseBackend, type TelemetryBackend, urlOf } from './backend.ts'
import { sanitizeHostname } from './hostname.ts'
import { remoteWritePath } from './paths.ts'
import { type NginxRoute, type NginxRoutes, problem, routed } from './route.ts'

/**
 * Builds routes for remote write. A backend's name is its host and a hash of its URL, joined by a dot, which such a host segment never has. The path
 * depends only on the URL, so writers keep their path when other backends come and go.
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

/** Builds the charm library's paths without a hash, for workers that still use them. They exist only for unambiguous names, and are not published. */
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
