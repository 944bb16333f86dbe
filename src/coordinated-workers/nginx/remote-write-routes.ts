import { createHash } from 'node:crypto'
import { groups } from '../../istio/groups.ts'
import { type Backend, backendOf, urlOf } from './backend.ts'
import { sanitizeHostname } from './hostname.ts'
import { remoteWritePath } from './paths.ts'
import { problem, type Route, type Routed, routed } from './route.ts'

/**
 * Names a backend by its host and a hash of its URL, joined by a dot, which no host name here has. Its path depends on its URL alone, so
 * writers keep their path when other backends come and go.
 */
export const remoteWriteRoutes = (endpoints: readonly { readonly url: string }[]): Routed =>
  routed(
    'remote write',
    endpoints.map(({ url }) => {
      const backend = backendOf(url)
      if (typeof backend === 'string') return problem('remote write', backend, url)
      return routeNamed(`${hostName(backend)}.${digest(urlOf(backend))}`, backend)
    }),
  )

/**
 * Paths without a hash, as the charm library has them, served for workers that know these: only for unambiguous names. They are not
 * published.
 */
export const formerRemoteWriteRoutes = (routes: readonly Route[]): Route[] =>
  groups(routes, ({ backend }) => hostName(backend)).flatMap(([name, same]) =>
    same.length === 1 ? same.map(({ backend }) => routeNamed(name, backend)) : [],
  )

const routeNamed = (name: string, backend: Backend): Route => ({ name, path: remoteWritePath(name), backend })

const hostName = ({ host }: Backend): string => sanitizeHostname(host.replaceAll(/[[\]]/g, ''))

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)
