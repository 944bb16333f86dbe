import { createHash } from 'node:crypto'
import { groups } from '../../policies/groups.ts'
import { type Backend, backendOf, urlOf } from './backend.ts'
import { sanitizeHostname } from './hostname.ts'
import { remoteWritePath } from './paths.ts'
import { problem, type Route, type Routed, routed } from './route.ts'

/**
 * A backend is named after its host. Where several have that name (two of Prometheus behind one ingress), each has a hash of its URL after
 * it, and a dot between, which no name has: so it is the same whatever comes and goes beside them, as long as there are two.
 */
export const remoteWriteRoutes = (endpoints: readonly { readonly url: string }[]): Routed => {
  const backends = endpoints.map(({ url }) => {
    const backend = backendOf(url)
    return typeof backend === 'string' ? problem('remote write', backend, url) : backend
  })
  const named = groups(
    backends.filter((backend) => typeof backend !== 'string'),
    ({ host }) => sanitizeHostname(host.replaceAll(/[[\]]/g, '')),
  )
  return routed('remote write', [
    ...backends.filter((backend) => typeof backend === 'string'),
    ...named.flatMap(([name, same]) => routesNamed(name, same)),
  ])
}

const routesNamed = (name: string, backends: readonly Backend[]): Route[] => {
  const isShared = new Set(backends.map(urlOf)).size > 1
  return backends.map((backend) => {
    const unique = isShared ? `${name}.${digest(urlOf(backend))}` : name
    return { name: unique, path: remoteWritePath(unique), backend }
  })
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)
