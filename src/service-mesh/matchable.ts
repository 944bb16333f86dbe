import type { Problem } from '../istio/validation.ts'
import { hasLiteralAsterisk, templateProblem, unmatchedHost, unmatchedPath } from '../policies/path-template.ts'
import type { Config } from '../state/config.ts'

type Endpoints = readonly {
  readonly hosts?: readonly string[] | null | undefined
  readonly paths?: readonly string[] | null | undefined
}[]

/** The endpoints of the policies in a config, each list with its path. */
const endpointsIn = ({ policies = [], meshPolicies = [] }: Config): [(string | number)[], Endpoints][] => [
  ...policies.map((policy, index): [(string | number)[], Endpoints] => [
    ['policies', index, 'endpoints'],
    policy.type === 'app' ? policy.endpoints : [],
  ]),
  ...meshPolicies.map(({ endpoints }, index): [(string | number)[], Endpoints] => [
    ['meshPolicies', index, 'endpoints'],
    endpoints,
  ]),
]

/** Finds hosts and paths in the policies of a config that no request has, or that the waypoint refuses. */
export const unmatchable = (config: Config): Problem[] =>
  endpointsIn(config).flatMap(([parent, endpoints]) =>
    endpoints.flatMap(({ hosts, paths }, index) => [
      ...problemsIn([...parent, index, 'hosts'], hosts, unmatchedHost),
      ...problemsIn([...parent, index, 'paths'], paths, (path) => templateProblem(path) ?? unmatchedPath(path)),
    ]),
  )

const problemsIn = (
  parent: readonly (string | number)[],
  list: readonly string[] | null | undefined,
  check: (value: string) => string | undefined,
): Problem[] =>
  (list ?? []).flatMap((value, index) => {
    const message = check(value)
    return message === undefined ? [] : [{ path: [...parent, index], message }]
  })

/** Says of paths in the policies of a config which asterisks Istio takes for themselves. */
export const literalAsterisks = (config: Config): string[] => {
  const paths = endpointsIn(config).flatMap(([, endpoints]) => endpoints.flatMap((endpoint) => endpoint.paths ?? []))
  return [...new Set(paths.filter(hasLiteralAsterisk))].map(
    (path) =>
      `config: the path ${path} matches a * literally, as only prefix* and *suffix have wildcards: {*} is one segment, and {**} any number`,
  )
}
