import { joinOr } from '../base/printed.ts'
import { nameOf } from '../kubernetes/objects.ts'
import { type AuthorizationPolicy, isForNoPods, isForPods, type Rule } from './authorization-policy.ts'
import { isDryRun } from './dry-run.ts'
import { HTTP_OPERATION } from './view.ts'
import { asZtunnelSees, hiddenFromZtunnel } from './ztunnel.ts'

/** Lists the parts of `policy` that have no effect, or another than expected, one sentence each. */
export const effectWarnings = (policy: AuthorizationPolicy, rootNamespaces: readonly string[]): string[] => {
  const { kind, metadata } = policy
  const found = [
    ...(isForPods(policy.spec) ? atZtunnels(policy) : atWaypoints(policy)),
    ...classWarnings(policy, rootNamespaces),
  ]
  return found.map((warning) => `${nameOf({ kind, ...metadata })} ${warning}`)
}

const atZtunnels = (policy: AuthorizationPolicy): string[] => {
  const { action = 'ALLOW', rules = [], selector } = policy.spec
  const isEnforcing = action === 'ALLOW' || action === 'DENY'
  return [
    ...(isEnforcing ? [] : [`has no effect at pods, whose ztunnel knows no ${action}: it needs targetRefs`]),
    ...(isDryRun(policy) ? ['has no effect at pods, whose ztunnel ignores dry runs'] : []),
    ...(isForNoPods(policy.spec)
      ? ['has no effect at pods, as its selector has no matchLabels: leave the selector out']
      : []),
    ...(Object.keys(selector?.matchLabels ?? { some: '' }).length === 0
      ? ['selects by no label, and so all pods of its namespace']
      : []),
    ...(isEnforcing ? rules.flatMap((rule, index) => ruleWarnings(rule, index, action)) : []),
  ]
}

const DROPPED = ['trustDomains', 'notTrustDomains'] as const

const ruleWarnings = (rule: Rule, index: number, action: 'ALLOW' | 'DENY'): string[] => {
  const hidden = hiddenFromZtunnel(rule)
  const rest = rule.from?.some(({ source = {} }) => DROPPED.some((name) => source[name]?.length))
  const which = `rules[${index}]`
  if ('never' in asZtunnelSees(rule, action))
    return [
      `matches nothing at pods by ${which}, of which a ztunnel cannot see ${joinOr([...hidden, ...(rest ? DROPPED : [])])}`,
    ]
  return [
    ...(hidden.length > 0 ? [`denies more at pods than ${which} says, as a ztunnel cannot see ${joinOr(hidden)}`] : []),
    ...(rest ? [`matches more at pods than ${which} says, as a ztunnel does not look at trust domains`] : []),
  ]
}

const atWaypoints = ({ spec: { action = 'ALLOW', rules = [] } }: AuthorizationPolicy): string[] => [
  ...(action === 'AUDIT' ? ['decides nothing, as its action is AUDIT'] : []),
  ...rules.flatMap((rule, index) =>
    action === 'DENY' && isOnlyHttp(rule)
      ? [`denies everything by rules[${index}] on ports that carry TCP, where nobody sees HTTP: name its ports`]
      : [],
  ),
]

const CONNECTION = ['ports', 'notPorts'] as const

const isOnlyHttp = ({ from = [], to = [], when = [] }: Rule): boolean =>
  from.length === 0 &&
  when.length === 0 &&
  to.some(
    ({ operation = {} }) =>
      HTTP_OPERATION.some((name) => operation[name]?.length) && !CONNECTION.some((name) => operation[name]?.length),
  )

const classWarnings = ({ metadata, spec }: AuthorizationPolicy, rootNamespaces: readonly string[]): string[] => {
  const targets = [...(spec.targetRefs ?? []), ...(spec.targetRef ? [spec.targetRef] : [])]
  const classes = targets.filter(({ kind }) => kind === 'GatewayClass')
  return classes.flatMap(({ name }) => [
    ...(rootNamespaces.includes(metadata.namespace)
      ? []
      : [`has no effect for the GatewayClass ${name}: it would in the root namespace, ${joinOr(rootNamespaces)}`]),
    ...(name === 'istio-waypoint'
      ? []
      : [`has no effect for the GatewayClass ${name}: only istio-waypoint has policies`]),
  ])
}
