import { joinOr } from '../../platform/base/printed.ts'
import { nameOf } from '../../platform/kubernetes/objects.ts'
import { type AuthorizationPolicy, isForNoPods, isForPods, type Rule, targetsOf } from './authorization-policy.ts'
import { isDryRun } from './dry-run.ts'
import { mistakeIf, type PolicyMistake } from './mistake.ts'
import { tcpMistakes, type WaypointPort } from './tcp-mistakes.ts'
import { valueMistakes } from './value-mistakes.ts'
import { asZtunnelSees, hiddenFromZtunnel } from './ztunnel.ts'

/** Lists the parts of `policy` with no effect or an unexpected one, each as a sentence. */
export const mistakeWarnings = (policy: AuthorizationPolicy, rootNamespaces: readonly string[] | undefined): string[] =>
  policyMistakes(policy, rootNamespaces).map(({ says }) => `${nameOf({ ...policy, ...policy.metadata })} ${says}`)

/**
 * Lists the mistakes with their ids. `rootNamespaces` are the possible root namespaces of Istio. Undefined means that any is possible. `ports` are those
 * of all targets, if all are known.
 */
export const policyMistakes = (
  policy: AuthorizationPolicy,
  rootNamespaces: readonly string[] | undefined,
  ports?: readonly WaypointPort[],
): PolicyMistake[] => [
  ...(isForPods(policy.spec) ? atZtunnels(policy) : atWaypoints(policy, ports)),
  ...targetMistakes(policy, rootNamespaces),
  ...valueMistakes(policy.spec),
]

const atZtunnels = (policy: AuthorizationPolicy): PolicyMistake[] => {
  const { action = 'ALLOW', rules = [], selector } = policy.spec
  const isEnforcing = action === 'ALLOW' || action === 'DENY'
  const isEmpty = selector?.matchLabels && Object.keys(selector.matchLabels).length === 0
  return [
    ...mistakeIf(
      !isEnforcing,
      'policy-ineffective',
      `has no effect at pods, whose ztunnel knows no ${action}: it needs targetRefs`,
    ),
    ...mistakeIf(isDryRun(policy), 'policy-ineffective', 'has no effect at pods, whose ztunnel ignores dry runs'),
    ...mistakeIf(
      isForNoPods(policy.spec),
      'policy-ineffective',
      'has no effect at pods, as its selector has no matchLabels: leave the selector out',
    ),
    ...mistakeIf(isEmpty, 'selects-all', 'selects by no label, and so all pods of its namespace'),
    ...(isEnforcing ? rules.flatMap((rule, index) => ruleMistakes(rule, index, action)) : []),
  ]
}

const DROPPED = ['trustDomains', 'notTrustDomains'] as const

const ruleMistakes = (rule: Rule, index: number, action: 'ALLOW' | 'DENY'): PolicyMistake[] => {
  const hidden = hiddenFromZtunnel(rule)
  const rest = rule.from?.some(({ source = {} }) => DROPPED.some((name) => source[name]?.length))
  const which = `rules[${index}]`
  if ('never' in asZtunnelSees(rule, action)) {
    const unseen = joinOr([...hidden, ...(rest ? DROPPED : [])])
    const effect = action === 'DENY' ? 'refuses nothing' : 'lets in nobody'
    // the API server refuses a part without fields
    return mistakeIf(
      unseen !== '',
      hidden.length > 0 ? 'http-without-waypoint' : 'trust-domain-unseen',
      `matches nothing at pods by ${which}, of which a ztunnel cannot see ${unseen}: it ${effect}`,
    )
  }
  return [
    ...mistakeIf(
      hidden.length > 0,
      'http-without-waypoint',
      `denies more at pods than ${which} says, as a ztunnel cannot see ${joinOr(hidden)}`,
    ),
    ...mistakeIf(
      rest,
      'trust-domain-unseen',
      `matches more at pods than ${which} says, as a ztunnel does not look at trust domains`,
    ),
  ]
}

const atWaypoints = ({ spec }: AuthorizationPolicy, ports: readonly WaypointPort[] | undefined): PolicyMistake[] => [
  ...mistakeIf(spec.action === 'AUDIT', 'policy-ineffective', 'decides nothing, as its action is AUDIT'),
  ...tcpMistakes(spec, ports),
]

const targetMistakes = (
  { metadata, spec }: AuthorizationPolicy,
  rootNamespaces: readonly string[] = [metadata.namespace],
): PolicyMistake[] =>
  targetsOf(spec).flatMap(({ kind, name, namespace = '' }) => {
    if (kind !== 'GatewayClass')
      return mistakeIf(
        metadata.namespace !== '' && !['', metadata.namespace].includes(namespace),
        'target-outside-namespace',
        `has no effect for the ${kind} ${namespace}/${name}: a policy reaches targets of its own namespace alone`,
      )
    return [
      ...mistakeIf(
        !rootNamespaces.includes(metadata.namespace),
        'target-outside-namespace',
        `has no effect for the GatewayClass ${name}: it would in the root namespace, ${joinOr(rootNamespaces)}`,
      ),
      ...mistakeIf(
        name !== 'istio-waypoint',
        'policy-ineffective',
        `has no effect for the GatewayClass ${name}: only istio-waypoint has policies`,
      ),
    ]
  })
