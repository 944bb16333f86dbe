import { shown } from '../../base/printed.ts'
import { type Backend, urlOf } from './backend.ts'
import { unique } from './unique.ts'

/** What arrives at `path` goes to `backend`; `name` says whose it is: a unit, a protocol. */
export type Route = { readonly name: string; readonly path: string; readonly backend: Backend }

/** The routes that there can be, and why there is none for each of the others. */
export type Routed = { readonly routes: readonly Route[]; readonly problems: readonly string[] }

/** `{what}: {expected}, got {given}`, without what may be secret in a URL. */
export const problem = (what: string, expected: string, given: string): string =>
  `${what}: ${expected}, got ${shown(withoutSecrets(given))}`

/** Passwords come before the host, and tokens in the query. */
const withoutSecrets = (url: string): string => url.replace(/^([a-z]+:\/\/)?[^/]*@/i, '$1…@').replace(/[?#].*$/s, '')

/**
 * One route for each path, as nginx refuses a file that has a location twice. Of several that differ the first in the order of their URLs
 * is taken, in whatever order they come. Elements that are text are problems already.
 */
export const routed = (what: string, elements: readonly (Route | string)[]): Routed => {
  const routes = unique(
    elements.filter((element) => typeof element !== 'string'),
    ({ path, backend }) => `${path} ${urlOf(backend)}`,
  )
  const isFirst = ({ path }: Route, index: number) => routes[index - 1]?.path !== path
  const others = routes.filter((route, index) => !isFirst(route, index))
  return {
    routes: routes.filter(isFirst),
    problems: [
      ...elements.filter((element) => typeof element === 'string'),
      ...others.map(({ name, backend }) =>
        problem(`${what} ${shown(name)}`, 'expected one backend only', urlOf(backend)),
      ),
    ],
  }
}
