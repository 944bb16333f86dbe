import { printValue } from '../../../platform/base/printed.ts'
import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import { type TelemetryBackend, urlOf } from './backend.ts'

/** A route from `path` to `backend`. `name` is its unit or protocol. */
export type NginxRoute = { readonly name: string; readonly path: string; readonly backend: TelemetryBackend }

/** The valid routes, and a problem for each invalid one. */
export type NginxRoutes = { readonly routes: readonly NginxRoute[]; readonly problems: readonly string[] }

/** Formats `{what}: {expected}, got {given}`, without possible secrets in a URL. */
export const problem = (what: string, expected: string, given: string): string =>
  `${what}: ${expected}, got ${printValue(withoutSecrets(given))}`

/** Removes passwords, which precede the host, and the query, which may have tokens. */
const withoutSecrets = (url: string): string => url.replace(/^([a-z]+:\/\/)?[^/]*@/i, '$1…@').replace(/[?#].*$/s, '')

/**
 * Keeps one route for each path, because nginx refuses duplicate locations. Of several different ones, the first by URL wins, independent of their order.
 * Elements that are text are already problems.
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

/** Keeps one item for each key, in the order of the keys. */
export const uniqueBy = <T>(items: readonly T[], keyOf: (item: T) => string): T[] =>
  sortedGroups(items, keyOf).flatMap(([, same]) => same.slice(0, 1))
