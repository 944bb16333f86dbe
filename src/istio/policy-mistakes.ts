import { joinOr } from '../base/printed.ts'
import { nameOf } from '../kubernetes/objects.ts'
import {
  type AuthorizationPolicy,
  isForNoPods,
  isForPods,
  type Operation,
  type Rule,
  type Source,
  targetsOf,
} from './authorization-policy.ts'
import { isDryRun } from './dry-run.ts'
import { principalsIn } from './rule-values.ts'
import { asTcpSees, hasFields } from './visible-rule.ts'
import { asZtunnelSees, hiddenFromZtunnel } from './ztunnel.ts'

/** A part of a policy that has no effect, or another than expected: what kind of mistake it is, and what happens, as of the policy. */
export type PolicyMistake = {
  readonly id:
    | 'deny-on-tcp'
    | 'http-without-waypoint'
    | 'policy-ineffective'
    | 'principal-spiffe'
    | 'selects-all'
    | 'target-outside-namespace'
    | 'trust-domain-unseen'
  readonly says: string
}

/** Lists the parts of `policy` that have no effect, or another than expected, one sentence each. */
export const mistakeWarnings = (policy: AuthorizationPolicy, rootNamespaces: readonly string[]): string[] =>
  policyMistakes(policy, rootNamespaces).map(({ says }) => `${nameOf({ ...policy, ...policy.metadata })} ${says}`)

/** Lists the same with the kind of each. Root namespaces are those that may be Istio's; undefined where it may be any. */
export const policyMistakes = (
  policy: AuthorizationPolicy,
  rootNamespaces: readonly string[] | undefined,
): PolicyMistake[] => [
  ...(isForPods(policy.spec) ? atZtunnels(policy) : atWaypoints(policy)),
  ...targetEffects(policy, rootNamespaces),
  ...principalEffects(policy),
]

const when = (applies: boolean | undefined, id: PolicyMistake['id'], says: string): PolicyMistake[] =>
  applies ? [{ id, says }] : []

const atZtunnels = (policy: AuthorizationPolicy): PolicyMistake[] => {
  const { action = 'ALLOW', rules = [], selector } = policy.spec
  const isEnforcing = action === 'ALLOW' || action === 'DENY'
  const isEmpty = selector?.matchLabels && Object.keys(selector.matchLabels).length === 0
  return [
    ...when(
      !isEnforcing,
      'policy-ineffective',
      `has no effect at pods, whose ztunnel knows no ${action}: it needs targetRefs`,
    ),
    ...when(isDryRun(policy), 'policy-ineffective', 'has no effect at pods, whose ztunnel ignores dry runs'),
    ...when(
      isForNoPods(policy.spec),
      'policy-ineffective',
      'has no effect at pods, as its selector has no matchLabels: leave the selector out',
    ),
    ...when(isEmpty, 'selects-all', 'selects by no label, and so all pods of its namespace'),
    ...(isEnforcing ? rules.flatMap((rule, index) => ruleEffects(rule, index, action)) : []),
  ]
}

const DROPPED = ['trustDomains', 'notTrustDomains'] as const

const ruleEffects = (rule: Rule, index: number, action: 'ALLOW' | 'DENY'): PolicyMistake[] => {
  const hidden = hiddenFromZtunnel(rule)
  const rest = rule.from?.some(({ source = {} }) => DROPPED.some((name) => source[name]?.length))
  const which = `rules[${index}]`
  if ('never' in asZtunnelSees(rule, action)) {
    const unseen = joinOr([...hidden, ...(rest ? DROPPED : [])])
    const effect = action === 'DENY' ? 'refuses nothing' : 'lets in nobody'
    return when(
      true,
      hidden.length > 0 ? 'http-without-waypoint' : 'trust-domain-unseen',
      `matches nothing at pods by ${which}, of which a ztunnel cannot see ${unseen || 'anything'}: it ${effect}`,
    )
  }
  return [
    ...when(
      hidden.length > 0,
      'http-without-waypoint',
      `denies more at pods than ${which} says, as a ztunnel cannot see ${joinOr(hidden)}`,
    ),
    ...when(
      rest,
      'trust-domain-unseen',
      `matches more at pods than ${which} says, as a ztunnel does not look at trust domains`,
    ),
  ]
}

const atWaypoints = ({ spec: { action = 'ALLOW', rules = [] } }: AuthorizationPolicy): PolicyMistake[] => [
  ...when(action === 'AUDIT', 'policy-ineffective', 'decides nothing, as its action is AUDIT'),
  ...rules.flatMap((rule, index) =>
    when(
      action === 'DENY' && isOnlyHttp(rule),
      'deny-on-tcp',
      `denies everything by rules[${index}] on ports that carry TCP, where nobody sees HTTP: name its ports`,
    ),
  ),
]

/** Tells if nothing of a DENY is left that narrows it, where nobody sees HTTP. */
const isOnlyHttp = (rule: Rule): boolean => {
  const seen = asTcpSees(rule, 'DENY')
  if ('never' in seen || seen.rule === rule) return false
  const { from = [], to = [], when: conditions = [] } = seen.rule
  const isOpen = (parts: readonly (Source | Operation | undefined)[]) =>
    parts.length === 0 || parts.some((part) => !part || !hasFields(part))
  return (
    conditions.length === 0 && isOpen(from.map(({ source }) => source)) && isOpen(to.map(({ operation }) => operation))
  )
}

const targetEffects = (
  { metadata, spec }: AuthorizationPolicy,
  rootNamespaces: readonly string[] = [metadata.namespace],
): PolicyMistake[] =>
  targetsOf(spec).flatMap(({ kind, name, namespace = '' }) => {
    if (kind !== 'GatewayClass')
      return when(
        metadata.namespace !== '' && !['', metadata.namespace].includes(namespace),
        'target-outside-namespace',
        `has no effect for the ${kind} ${namespace}/${name}: a policy reaches targets of its own namespace alone`,
      )
    return [
      ...when(
        !rootNamespaces.includes(metadata.namespace),
        'target-outside-namespace',
        `has no effect for the GatewayClass ${name}: it would in the root namespace, ${joinOr(rootNamespaces)}`,
      ),
      ...when(
        name !== 'istio-waypoint',
        'policy-ineffective',
        `has no effect for the GatewayClass ${name}: only istio-waypoint has policies`,
      ),
    ]
  })

const principalEffects = ({ spec: { rules = [] } }: AuthorizationPolicy): PolicyMistake[] =>
  rules.flatMap((rule, index) => {
    const prefixed = principalsIn(rule).find((one) => one.startsWith('spiffe://'))
    return when(
      prefixed !== undefined,
      'principal-spiffe',
      `matches nobody by ${prefixed?.slice(0, 120)} of rules[${index}]: principals are written without spiffe://`,
    )
  })
