import type { ClusterSnapshot } from '../authorization/evaluate.ts'
import {
  type AuthorizationPolicy,
  negated,
  type Operation,
  type OperationField,
} from '../istio/authorization-policy.ts'

/** A value that stands for all that policies do not tell apart from it: what matches `label`, or what none of `not` does. */
export type Witness<T> = { readonly value: T } & ({ readonly label: string } | { readonly not: readonly string[] })

/** A field of an operation that has witnesses: each port is asked for by itself. */
type Field = Exclude<OperationField, 'ports'>
type Witnesses = { readonly [field in Field]: readonly Witness<string | undefined>[] }

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT'] as const

/** Makes a value that a pattern of the field matches, and values that none of `named` does. */
const EXAMPLES: Record<
  Field,
  { of: (pattern: string) => string; others: (named: readonly string[]) => readonly (string | undefined)[] }
> = {
  // a host is asked for only where it matters, as most policies name none
  hosts: {
    of: (pattern) => pattern.replaceAll('*', 'x'),
    others: (named) => [named.length > 0 ? 'none-of-the-others.invalid' : undefined],
  },
  methods: {
    of: (pattern) => pattern.replace('*', 'X'),
    others: (named) => METHODS.filter((method) => !named.includes(method)).slice(0, 1),
  },
  paths: { of: (pattern) => instanceOf(pattern), others: () => ['/.meshstep/none-of-the-others'] },
}

/** Hosts, methods and paths on either side of what the policies say, one for each pattern, and one that none of them names. */
export const witnessesOf = (policies: readonly AuthorizationPolicy[]): Witnesses => {
  const operations = operationsOf(policies)
  const witnesses = (field: Field) => {
    const named = namedIn(operations, field)
    const { of, others } = EXAMPLES[field]
    return [
      ...named.map((label) => ({ label, value: of(label) })),
      ...others(named).map((value) => ({ not: named, value })),
    ]
  }
  return { hosts: witnesses('hosts'), methods: witnesses('methods'), paths: witnesses('paths') }
}

/** The ports that policies name, beside those that something listens on. */
export const portsIn = (policies: ClusterSnapshot['policies']): number[] =>
  namedIn(operationsOf(policies), 'ports').map(Number).filter(Number.isInteger)

const operationsOf = (policies: readonly AuthorizationPolicy[]): Operation[] =>
  policies.flatMap(({ spec: { rules = [] } }) =>
    rules.flatMap(({ to = [] }) => to.flatMap(({ operation }) => operation ?? [])),
  )

const namedIn = (operations: readonly Operation[], field: OperationField): string[] =>
  [
    ...new Set(operations.flatMap((operation) => [...(operation[field] ?? []), ...(operation[negated(field)] ?? [])])),
  ].toSorted()

/** A path that a pattern matches: a `*` at an end, or templates of whole segments. */
const instanceOf = (pattern: string): string => {
  const path = pattern.replaceAll('{**}', 'x/y').replaceAll('{*}', 'x').replaceAll('*', 'x')
  return path.startsWith('/') ? path : `/${path}`
}
