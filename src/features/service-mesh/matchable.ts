import { type Check, checkValues } from '../../core/policies/endpoint.ts'
import { hasLiteralAsterisk, templateProblem, unmatchedHost, unmatchedPath } from '../../core/policies/path-template.ts'
import type { Config } from '../../core/state/config.ts'
import type { Problem } from '../../mesh/istio/validation.ts'

/** Checks the values in the endpoints of all policies of a config, by their kind. */
const check = ({ policies = [], meshPolicies = [] }: Config, checks: { host?: Check; path: Check }): Problem[] => [
  ...policies.flatMap((policy, index) =>
    policy.type === 'app' ? below(['policies', index, 'endpoints'], checkValues(policy.endpoints, checks)) : [],
  ),
  ...meshPolicies.flatMap(({ endpoints }, index) =>
    below(['meshPolicies', index, 'endpoints'], checkValues(endpoints, checks)),
  ),
]

const below = (parent: readonly (string | number)[], problems: readonly Problem[]): Problem[] =>
  problems.map(({ path, message }) => ({ path: [...parent, ...path], message }))

/** Finds hosts and paths in the policies of a config that no request has, or that the waypoint refuses. */
export const unmatchable = (config: Config): Problem[] =>
  check(config, { host: unmatchedHost, path: (path) => templateProblem(path) ?? unmatchedPath(path) })

/** Says of paths in the policies of a config which asterisks Istio takes for themselves. */
export const literalAsterisks = (config: Config): string[] => {
  const literal = check(config, { path: (path) => (hasLiteralAsterisk(path) ? path : undefined) })
  return [...new Set(literal.map(({ message }) => message))].map(
    (path) =>
      `config: the path ${path} matches a * literally, as only prefix* and *suffix have wildcards: {*} is one segment, and {**} any number`,
  )
}
