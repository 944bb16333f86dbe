import { isIP } from 'node:net'
import { pathProblem, templateProblem } from '../../core/policies/path-template.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { AuthorizationPolicySpec, Condition, Operation, Rule, Source, TargetRef } from './authorization-policy.ts'
import { DRY_RUN, isDryRunValue } from './dry-run.ts'

/** A problem in a policy, and its path. */
export type Problem = { readonly path: readonly (string | number)[]; readonly message: string }

/** A policy as a person writes it. */
export type WrittenPolicy = {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined }
  readonly spec?: AuthorizationPolicySpec | undefined
}

/** Checks a value of a list. Returns undefined if it is valid. */
type Check = (value: string) => string | undefined

/**
 * Validates a policy as the API server and Istio's webhook do. The sources are the schema of its CRD, and istio's pkg/config/validation and
 * pkg/config/security. They refuse the whole object, so a config with such a policy is refused too.
 */
export const policyProblems = ({ metadata, spec = {} }: WrittenPolicy): Problem[] => [
  ...annotationProblems(metadata.annotations, spec),
  ...[...targetProblems(spec), ...selectorProblems(spec), ...actionProblems(spec), ...ruleProblems(spec)].map(
    within('spec'),
  ),
]

/** Lists the reasons for which Istio's webhook would refuse a policy, each with its place. */
export const policyRefusals = (policy: WrittenPolicy): string[] =>
  policyProblems(policy).map(({ path, message }) => `${path.join('.')}: ${message}`)

const within =
  (...parents: (string | number)[]) =>
  ({ path, message }: Problem): Problem => ({ path: [...parents, ...path], message })

const problem = (isConfigurationError: boolean, message: string, ...path: (string | number)[]): Problem[] =>
  isConfigurationError ? [{ path, message }] : []

/** Annotations reserved for Istio. */
const RESERVED = [
  'internal.istio.io/webhook-always-reject',
  'internal.istio.io/parents',
  'internal.istio.io/parent-namespace',
]

const annotationProblems = (
  annotations: WrittenPolicy['metadata']['annotations'] = {},
  { action = 'ALLOW' }: AuthorizationPolicySpec,
): Problem[] => {
  const value = ownValue(annotations, DRY_RUN)
  const isEnforcing = action === 'ALLOW' || action === 'DENY'
  return [
    ...problem(
      value !== undefined && !isEnforcing,
      `expected no dry run of ${action}: only ALLOW and DENY have one`,
      DRY_RUN,
    ),
    ...problem(value !== undefined && isEnforcing && !isDryRunValue(value), 'expected true or false', DRY_RUN),
    ...RESERVED.flatMap((name) => problem(Object.hasOwn(annotations, name), 'is reserved for Istio itself', name)),
  ].map(within('metadata', 'annotations'))
}

const KINDS = [
  'core/Service',
  'networking.istio.io/ServiceEntry',
  'gateway.networking.k8s.io/Gateway',
  'gateway.networking.k8s.io/GatewayClass',
]

const targetProblems = ({ selector, targetRef, targetRefs }: AuthorizationPolicySpec): Problem[] => {
  const given = [selector, targetRef, targetRefs].filter((target) => target !== undefined)
  return [
    ...problem(given.length > 1, 'At most one of targetRefs and selector can be set'),
    ...problem((targetRefs ?? []).length > 16, 'expected at most 16 targets', 'targetRefs'),
    ...(targetRef ? referenceProblems(targetRef).map(within('targetRef')) : []),
    ...(targetRefs ?? []).flatMap((one, index) => referenceProblems(one).map(within('targetRefs', index))),
  ]
}

const referenceProblems = ({ group = '', kind, name, namespace = '' }: TargetRef): Problem[] => [
  ...problem(!KINDS.includes(`${group || 'core'}/${kind}`), `expected a target of ${KINDS.join(', ')}`, 'kind'),
  ...problem(name === '' || name.length > 253, 'expected a name of 1 to 253 characters', 'name'),
  ...problem(namespace !== '', 'expected no namespace: a policy only reaches targets in its own', 'namespace'),
]

/** Lists the problems of a policy's selector. It works for any kind of policy. */
export const selectorProblems = ({ selector }: Pick<AuthorizationPolicySpec, 'selector'>): Problem[] => {
  const labels = Object.entries(selector?.matchLabels ?? {})
  return [
    ...problem(labels.length > 4096, 'expected at most 4096 labels'),
    ...labels.flatMap(([key, value]) => [
      ...problem(key === '' || key.includes('*'), 'expected a key without a wildcard', key),
      ...problem(value.includes('*') || value.length > 63, 'expected at most 63 characters, and no wildcard', key),
    ]),
  ].map(within('selector', 'matchLabels'))
}

const actionProblems = ({ action = 'ALLOW', provider, rules }: AuthorizationPolicySpec): Problem[] => {
  const isCustom = action === 'CUSTOM'
  const isEmpty = rules === undefined || rules.length === 0
  return [
    ...problem(
      provider !== undefined && !isCustom,
      'CUSTOM action must be set when specifying extension providers',
      'action',
    ),
    ...problem(
      isCustom && !provider?.name,
      'expected the name of the extension provider that is asked',
      'provider',
      'name',
    ),
    ...problem(
      (isCustom || action === 'DENY') && isEmpty,
      `expected rules: a ${action} without any never matches; {} matches everything`,
      'rules',
    ),
    ...(isCustom ? (rules ?? []).flatMap((rule, index) => customProblems(rule).map(within('rules', index))) : []),
  ]
}

/** Source fields that are unknown before the authorizer decides. */
const NOT_WITH_CUSTOM = [
  ...([
    'namespaces',
    'notNamespaces',
    'serviceAccounts',
    'notServiceAccounts',
    'trustDomains',
    'notTrustDomains',
  ] as const),
  ...(['principals', 'notPrincipals', 'requestPrincipals', 'notRequestPrincipals'] as const),
] satisfies (keyof Source)[]

const NO_CUSTOM_KEYS = ['source.namespace', 'source.serviceAccount', 'source.trustDomain', 'source.principal']

const WITH_CUSTOM = 'is not supported with CUSTOM'

const customProblems = ({ from = [], when = [] }: Rule): Problem[] => [
  ...from.flatMap(({ source = {} }, index) =>
    NOT_WITH_CUSTOM.flatMap((field) =>
      problem((source[field] ?? []).length > 0, WITH_CUSTOM, 'from', index, 'source', field),
    ),
  ),
  ...when.flatMap(({ key }, index) =>
    problem(NO_CUSTOM_KEYS.includes(key) || key.startsWith('request.auth.'), WITH_CUSTOM, 'when', index, 'key'),
  ),
]

const MOST = 512

const ruleProblems = ({ rules = [] }: AuthorizationPolicySpec): Problem[] => [
  ...problem(rules.length > MOST, `expected at most ${MOST} rules`, 'rules'),
  ...rules.flatMap(({ from, to, when = [] }, index) =>
    [
      ...partProblems('from', from, ({ source }) => sourceProblems(source).map(within('source'))),
      ...problem((from ?? []).length > MOST, `expected at most ${MOST} sources`, 'from'),
      ...partProblems('to', to, ({ operation }) => operationProblems(operation).map(within('operation'))),
      ...when.flatMap((condition, at) => conditionProblems(condition).map(within('when', at))),
    ].map(within('rules', index)),
  ),
]

const partProblems = <T>(name: string, part: readonly T[] | undefined, problems: (one: T) => Problem[]): Problem[] => [
  ...problem(part?.length === 0, `expected something in ${name}; to match everything, leave it out`, name),
  ...(part ?? []).flatMap((one, index) => problems(one).map(within(name, index))),
]

const listProblems = (list: readonly string[] | undefined, check: Check, ...path: (string | number)[]): Problem[] =>
  (list ?? []).flatMap((value, index) => {
    const message = check(value)
    return message === undefined ? [] : [{ path: [...path, index], message }]
  })

const isFilled: Check = (value) => (value === '' ? 'expected text that is not empty' : undefined)

/** Checks an address as Go's net/netip does: a block has no zone, and its size no leading zeros. */
const isAddress: Check = (value) => {
  const [address = '', bits, ...rest] = value.split('/')
  const family = isIP(address)
  const message = 'expected an IP address or a block of them, like 10.0.0.0/8'
  if (family === 0 || rest.length > 0) return message
  if (bits === undefined) return undefined
  const isSize = /^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
  return isSize && !address.includes('%') ? undefined : message
}

const isPort: Check = (value) =>
  /^\d+$/.test(value) && Number(value) <= 65_535 ? undefined : 'expected a port: digits, at most 65535'

const isAccount: Check = (value) => {
  const parts = value.split('/')
  const isGood = value.length <= 320 && !value.includes('*') && parts.length <= 2 && !parts.includes('')
  return isGood
    ? undefined
    : 'expected a ServiceAccount, or {namespace}/{ServiceAccount}, of at most 320 characters and no wildcard'
}

const isWildcard: Check = (value) =>
  value === '' || !/^\*?[^*]*\*?$/.test(value) || (value.length > 1 && value.startsWith('*') && value.endsWith('*'))
    ? 'expected a value, with at most one wildcard, at its start or its end'
    : undefined

const isTrustDomain: Check = (value) =>
  value.includes('/') ? 'expected a trust domain, which has no slash' : isWildcard(value)

const isPath: Check = (path) => pathProblem(path) ?? templateProblem(path)

const CHECKS: Partial<Record<keyof Source | keyof Operation, Check>> = {
  ipBlocks: isAddress,
  notIpBlocks: isAddress,
  remoteIpBlocks: isAddress,
  notRemoteIpBlocks: isAddress,
  serviceAccounts: isAccount,
  notServiceAccounts: isAccount,
  trustDomains: isTrustDomain,
  notTrustDomains: isTrustDomain,
  ports: isPort,
  notPorts: isPort,
  paths: isPath,
  notPaths: isPath,
}

const fieldProblems = (fields: Source | Operation): Problem[] =>
  Object.entries(fields).flatMap(([name, list]) =>
    listProblems(list, CHECKS[name as keyof typeof CHECKS] ?? isFilled, name),
  )

const isEmpty = (fields: Source | Operation): boolean => !Object.values(fields).some((list) => list?.length)

const sourceProblems = (source: Source | undefined): Problem[] => {
  if (source === undefined || isEmpty(source))
    return [{ path: [], message: 'expected a source with at least one field; to match everybody, leave `from` out' }]
  const { serviceAccounts, notServiceAccounts, principals, notPrincipals, namespaces, notNamespaces } = source
  const hasAccounts = [serviceAccounts, notServiceAccounts].some((list) => list !== undefined)
  const hasOthers = [principals, notPrincipals, namespaces, notNamespaces].some((list) => list !== undefined)
  return [
    ...problem(
      hasAccounts && hasOthers,
      'expected serviceAccounts without principals and namespaces, which they contain',
    ),
    ...(['serviceAccounts', 'notServiceAccounts'] as const).flatMap((name) =>
      problem((source[name] ?? []).length > 16, 'expected at most 16 ServiceAccounts', name),
    ),
    ...fieldProblems(source),
  ]
}

const operationProblems = (operation: Operation | undefined): Problem[] =>
  operation === undefined || isEmpty(operation)
    ? [{ path: [], message: 'expected an operation with at least one field; to match everything, leave `to` out' }]
    : fieldProblems(operation)

/** https://istio.io/latest/docs/reference/config/security/conditions/ */
const CONDITIONS: Readonly<Record<string, Check>> = {
  'source.ip': isAddress,
  'remote.ip': isAddress,
  'source.namespace': isFilled,
  'source.serviceAccount': isAccount,
  'source.principal': isFilled,
  'source.trustDomain': isWildcard,
  'request.auth.principal': isFilled,
  'request.auth.audiences': isFilled,
  'request.auth.presenter': isFilled,
  'destination.ip': isAddress,
  'destination.port': isPort,
  'connection.sni': isFilled,
}

const MAPS = ['request.headers', 'request.auth.claims', 'experimental.envoy.filters.']

const conditionProblems = ({ key, values = [], notValues = [] }: Condition): Problem[] => {
  const check = ownValue(CONDITIONS, key)
  const message = check === undefined ? keyProblem(key) : undefined
  return [
    ...problem(message !== undefined, message ?? '', 'key'),
    ...problem(values.length + notValues.length === 0, 'expected values or notValues'),
    ...problem(
      key === 'source.serviceAccount' && Math.max(values.length, notValues.length) > 16,
      'expected at most 16 ServiceAccounts',
    ),
    ...listProblems(values, check ?? isFilled, 'values'),
    ...listProblems(notValues, check ?? isFilled, 'notValues'),
  ]
}

const keyProblem = (key: string): string | undefined => {
  if (!MAPS.some((map) => key.startsWith(map)))
    return 'expected an attribute that Istio knows (istio.io/latest/docs/reference/config/security/conditions)'
  return /^[^[]+\[.+\]$/s.test(key) ? undefined : `expected a name in brackets, like ${MAPS[0]}[x-user]`
}
