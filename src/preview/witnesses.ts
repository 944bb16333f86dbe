import type { ClusterSnapshot } from '../authorization/evaluate.ts'
import type { AuthorizationPolicy, Operation } from '../istio/authorization-policy.ts'

/** A value that stands for all that policies do not tell apart from it: what matches `label`, or what none of `not` does. */
export type Witness<T> = { readonly value: T } & ({ readonly label: string } | { readonly not: readonly string[] })

export type Witnesses = { readonly methods: readonly Witness<string>[]; readonly paths: readonly Witness<string>[] }

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT'] as const

/** A path that no policy is likely to name. */
const OTHER_PATH = '/.meshstep/none-of-the-others'

/** Methods and paths on either side of what the policies say, one for each pattern, and one that none of them names. */
export const witnessesOf = (policies: readonly AuthorizationPolicy[]): Witnesses => {
  const operations = policies.flatMap(({ spec: { rules = [] } }) =>
    rules.flatMap(({ to = [] }) => to.flatMap(({ operation }) => operation ?? [])),
  )
  const methods = namedIn(operations, ['methods', 'notMethods'])
  const paths = namedIn(operations, ['paths', 'notPaths'])
  const other = METHODS.find((method) => !methods.includes(method))
  return {
    methods: [
      ...methods.map((label) => ({ label, value: label.replace('*', 'X') })),
      ...(other ? [{ not: methods, value: other }] : []),
    ],
    paths: [...paths.map((label) => ({ label, value: instanceOf(label) })), { not: paths, value: OTHER_PATH }],
  }
}

/** The ports that policies name, beside those that something listens on. */
export const portsIn = (policies: ClusterSnapshot['policies']): number[] => {
  const operations = policies.flatMap(({ spec: { rules = [] } }) =>
    rules.flatMap(({ to = [] }) => to.flatMap(({ operation }) => operation ?? [])),
  )
  return namedIn(operations, ['ports', 'notPorts']).map(Number).filter(Number.isInteger)
}

const namedIn = (operations: readonly Operation[], fields: readonly (keyof Operation)[]): string[] =>
  [...new Set(operations.flatMap((operation) => fields.flatMap((field) => operation[field] ?? [])))].toSorted()

/** A path that a pattern matches: a `*` at an end, or templates of whole segments. */
const instanceOf = (pattern: string): string => {
  const path = pattern.replaceAll('{**}', 'x/y').replaceAll('{*}', 'x').replaceAll('*', 'x')
  return path.startsWith('/') ? path : `/${path}`
}
