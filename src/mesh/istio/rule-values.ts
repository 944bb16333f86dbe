import type { Operation, Rule, Source } from './authorization-policy.ts'

/** The values of one attribute in a rule. With `isExcluding`, the rule matches values that none of them matches. */
export type RuleValues = { readonly of: string; readonly values: readonly string[]; readonly isExcluding: boolean }

type Name = Exclude<keyof Source | keyof Operation, `not${string}`>

/**
 * The attribute that each field is compared with, by its name in conditions. `path` and `host` are no names of conditions: the path has no query, and the
 * host's case does not count.
 */
const ATTRIBUTES: Readonly<Record<Name, string>> = {
  principals: 'source.principal',
  namespaces: 'source.namespace',
  serviceAccounts: 'source.serviceAccount',
  trustDomains: 'source.trustDomain',
  ipBlocks: 'source.ip',
  remoteIpBlocks: 'remote.ip',
  requestPrincipals: 'request.auth.principal',
  ports: 'destination.port',
  hosts: 'host',
  methods: 'request.headers[:method]',
  paths: 'path',
}

/** The fields by name, including the excluding ones. */
const FIELDS = new Map<string, Omit<RuleValues, 'values'>>(
  Object.entries(ATTRIBUTES).flatMap(([name, of]) => [
    [name, { of, isExcluding: false }],
    [`not${name.charAt(0).toUpperCase()}${name.slice(1)}`, { of, isExcluding: true }],
  ]),
)

/** Lists the values of a rule, in its fields and its conditions. */
export const valuesIn = ({ from = [], to = [], when = [] }: Rule): RuleValues[] =>
  [
    ...[...from.map(({ source }) => source), ...to.map(({ operation }) => operation)].flatMap((fields = {}) =>
      Object.entries(fields).flatMap(([name, values = []]) => {
        const field = FIELDS.get(name)
        return field ? [{ ...field, values }] : []
      }),
    ),
    ...when.flatMap(({ key: of, values = [], notValues = [] }) => [
      { of, values, isExcluding: false },
      { of, values: notValues, isExcluding: true },
    ]),
  ].filter(({ values }) => values.length > 0)

/** Lists the principals of a rule, including excluded ones. */
export const principalsIn = (rule: Rule): string[] =>
  valuesIn(rule).flatMap(({ of, values }) => (of === 'source.principal' ? values : []))

/** Lists the trust domains of a rule, in principals and by themselves, including excluded ones and patterns. */
export const trustDomainsIn = (rule: Rule): string[] => [
  ...valuesIn(rule).flatMap(({ of, values }) => (of === 'source.trustDomain' ? values : [])),
  ...principalsIn(rule).flatMap((text) => text.split('/', 1)),
]
