import { type Check, checkValues } from '../../core/policies/endpoint.ts'
import { listedPolicies } from '../../core/policies/models.ts'
import { hasLiteralAsterisk, templateProblem, unmatchedHost, unmatchedPath } from '../../core/policies/path-template.ts'
import type { Config } from '../../core/state/config.ts'
import type { Problem } from '../../mesh/istio/validation.ts'

/** Checks the hosts and paths in the endpoints of all policies of a config. */
const check = ({ policies, meshPolicies = [] }: Config, checks: { host?: Check; path: Check }): Problem[] => [
  ...listedPolicies(policies).flatMap((policy, index) =>
    policy.type === 'app' ? below(['policies', index, 'endpoints'], checkValues(policy.endpoints, checks)) : [],
  ),
  ...meshPolicies.flatMap(({ endpoints }, index) =>
    below(['meshPolicies', index, 'endpoints'], checkValues(endpoints, checks)),
  ),
]

const below = (parent: readonly (string | number)[], problems: readonly Problem[]): Problem[] =>
  problems.map(({ path, message }) => ({ path: [...parent, ...path], message }))

/** Finds hosts and paths in a config's policies that match no request, or that the waypoint refuses. */
export const unmatchable = (config: Config): Problem[] =>
  check(config, { host: unmatchedHost, path: (path) => templateProblem(path) ?? unmatchedPath(path) })

/** Reports asterisks in a config's paths that Istio takes literally. */
export const literalAsterisks = (config: Config): string[] => {
  const literal = check(config, { path: (path) => (hasLiteralAsterisk(path) ? path : undefined) })
  return [...new Set(literal.map(({ message }) => message))].map(
    (path) =>
      `config: the path ${path} matches a * literally, as only prefix* and *suffix have wildcards: {*} is one segment, and {**} any number`,
  )
}
