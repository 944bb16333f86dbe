import { printValue } from '../../../platform/base/printed.ts'
import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import { type TelemetryBackend, urlOf } from './backend.ts'

/** Routes `path` to `backend`; `name` is its unit or protocol. */
export type NginxRoute = { readonly name: string; readonly path: string; readonly backend: TelemetryBackend }

/** The valid routes, and a problem for each of the others. */
export type NginxRoutes = { readonly routes: readonly NginxRoute[]; readonly problems: readonly string[] }

/** `{what}: {expected}, got {given}`, without what may be secret in a URL. */
export const problem = (what: string, expected: string, given: string): string =>
  `${what}: ${expected}, got ${printValue(withoutSecrets(given))}`

/** Passwords precede the host, and tokens are in the query. */
const withoutSecrets = (url: string): string => url.replace(/^([a-z]+:\/\/)?[^/]*@/i, '$1…@').replace(/[?#].*$/s, '')

/**
 * Keeps one route per path, as nginx refuses duplicate locations. Of several that differ the first by URL wins, whatever their order.
 * Elements that are text are problems already.
 */
export const routed = (what: string, elements: readonly (NginxRoute | string)[]): NginxRoutes => {
  const routes = uniqueBy(
    elements.filter((element) => typeof element !== 'string'),
    ({ path, backend }) => `${path} ${urlOf(backend)}`,
  )
  const isFirst = ({ path }: NginxRoute, index: number) => routes[index - 1]?.path !== path
  const others = routes.filter((route, index) => !isFirst(route, index))
  return {
    routes: routes.filter(isFirst),
    problems: [
      ...elements.filter((element) => typeof element === 'string'),
      ...others.map(({ name, backend }) =>
        problem(`${what} ${printValue(name)}`, 'expected one backend only', urlOf(backend)),
      ),
    ],
  }
}

/** One item of each key, in the order of the keys. */
export const uniqueBy = <T>(items: readonly T[], keyOf: (item: T) => string): T[] =>
  sortedGroups(items, keyOf).flatMap(([, same]) => same.slice(0, 1))
