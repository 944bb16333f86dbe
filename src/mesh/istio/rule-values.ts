import type { Operation, Rule, Source } from './authorization-policy.ts'

/** Values that a rule lists, of one attribute: `isExcluding` where it matches what none of them matches. */
export type RuleValues = { readonly of: string; readonly values: readonly string[]; readonly isExcluding: boolean }

type Name = Exclude<keyof Source | keyof Operation, `not${string}`>

/** The attribute that each field is compared with, as conditions name it. None of these is the path, without its query, or the host in any case. */
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

/** By the name of each field, also of those that exclude. */
const FIELDS = new Map<string, Omit<RuleValues, 'values'>>(
  Object.entries(ATTRIBUTES).flatMap(([name, of]) => [
    [name, { of, isExcluding: false }],
    [`not${name.charAt(0).toUpperCase()}${name.slice(1)}`, { of, isExcluding: true }],
  ]),
)

/** Lists the values of a rule, of its fields and its conditions alike. */
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

/** The principals of a rule, also those that it excludes. */
export const principalsIn = (rule: Rule): string[] =>
  valuesIn(rule).flatMap(({ of, values }) => (of === 'source.principal' ? values : []))
