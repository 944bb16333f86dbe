import {
  type AuthorizationPolicy,
  type Rule,
  readAuthorizationPolicy,
  targetsOf,
} from '../../mesh/istio/authorization-policy.ts'
import { joinAnd } from '../../platform/base/printed.ts'
import { type EnforcementPoint, matchPolicy, policyName } from '../authorization/evaluate/enforcement-point.ts'
import type { Cluster } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'
import { isForEverybody, type MeshProxy, proxiesIn } from './proxies.ts'
import { typicalRequests } from './typical-requests.ts'

/**
 * Reports policies that other policies of the same proxies make pointless: an ALLOW beside one that lets in everybody, an ALLOW rule whose requests DENY
 * policies all refuse, and a DENY that refuses no allowed request. A policy is reported only if this is so at each proxy of the namespace that enforces
 * it. Policies of a namespace that is or may be the root namespace are not checked, because proxies elsewhere enforce them too.
 */
export const shadowingFindings = (cluster: Cluster): Found[] => {
  const { unknown, rootNamespace } = cluster.istio
  if (unknown !== undefined || cluster.namespace === rootNamespace) return []
  const proxies = proxiesIn(cluster)
  const read = cluster.policies.map(readAuthorizationPolicy)
  const isWhole = cluster.rootPolicies !== undefined && read.every((one) => 'policy' in one)
  return read.flatMap((one) => {
    if (!('policy' in one)) return []
    const { policy } = one
    const allowing = proxies.filter(({ allows }) => allows.includes(policy))
    const denying = proxies.filter(({ denies }) => denies.includes(policy))
    return [
      ...shadowedFindings(policy, allowing),
      ...(policy.spec.rules ?? []).flatMap((rule, index) => hiddenFindings(policy, { rule, index }, allowing)),
      ...(isWhole && !isForGateway(policy) ? idleFindings(policy, denying) : []),
    ]
  })
}

/** Tells if a policy refers to a Gateway. A waypoint may serve other namespaces as well. */
const isForGateway = ({ spec }: AuthorizationPolicy): boolean => targetsOf(spec).some(({ kind }) => kind === 'Gateway')

const placesOf = (proxies: readonly MeshProxy[]): string => `at ${joinAnd([...new Set(proxies.map(({ of }) => of))])}`

const shadowedFindings = (policy: AuthorizationPolicy, proxies: readonly MeshProxy[]): Found[] => {
  const opening = proxies.map(({ allows }) => allows.find(isForEverybody))
  if (isForEverybody(policy) || opening.length === 0 || opening.includes(undefined)) return []
  const open = joinAnd([...new Set(opening.flatMap((one) => (one ? [policyName(one)] : [])))])
  const message = `${placesOf(proxies)} it restricts nobody, because ${open} lets everybody in`
  return [foundIn(policy, 'policy-shadowed', message)]
}

const hiddenFindings = (
  policy: AuthorizationPolicy,
  { rule, index }: { readonly rule: Rule; readonly index: number },
  proxies: readonly MeshProxy[],
): Found[] => {
  if (proxies.every(({ denies }) => denies.length === 0)) return []
  const one = { ...policy, spec: { ...policy.spec, rules: [rule] } }
  const applying = proxies.flatMap((proxy) => {
    const by = refusing(one, proxy)
    return by === undefined ? [] : [{ proxy, by }]
  })
  if (applying.length === 0 || applying.some(({ by }) => by.length === 0)) return []
  const names = joinAnd([...new Set(applying.flatMap(({ by }) => by))])
  const places = placesOf(applying.map(({ proxy }) => proxy))
  const message = `its rules[${index}] no longer lets anybody in, because a DENY policy refuses all its requests: ${names}, ${places}`
  return [foundIn(policy, 'allow-hidden', message)]
}

/**
 * Lists the DENY policies that together refuse every request that the policy allows. Returns an empty list if a request may pass, and undefined if the
 * policy allows none.
 */
const refusing = (policy: AuthorizationPolicy, proxy: MeshProxy): string[] | undefined => {
  const requests = typicalRequests([policy, ...proxy.denies], proxy)
  // too many requests to check: one may pass
  if (requests === undefined) return []
  const names = new Set<string>()
  for (const request of requests) {
    if (!mayMatch(policy, request)) continue
    const by = proxy.denies.filter((deny) => matchPolicy(deny, request).is === 'yes')
    if (by.length === 0) return []
    for (const deny of by) names.add(policyName(deny))
  }
  return names.size === 0 ? undefined : [...names]
}

const mayMatch = (policy: AuthorizationPolicy, request: EnforcementPoint): boolean =>
  matchPolicy(policy, request).is !== 'no'

/** Reports a DENY that refuses no allowed request. Another finding reports a DENY that matches no request at all. */
const idleFindings = (policy: AuthorizationPolicy, proxies: readonly MeshProxy[]): Found[] => {
  const matching = proxies.filter((proxy) => meets([policy], proxy))
  const isUseful = ({ allows, ...proxy }: MeshProxy) =>
    allows.length === 0 || allows.some((allow) => meets([policy, allow], { allows, ...proxy }))
  return matching.length === 0 || matching.some(isUseful)
    ? []
    : [foundIn(policy, 'deny-idle', `it refuses nothing that an ALLOW policy lets in, ${placesOf(matching)}`)]
}

/** Tells if a request may match all of the policies. */
const meets = (policies: readonly AuthorizationPolicy[], proxy: MeshProxy): boolean => {
  const requests = typicalRequests(policies, proxy)
  if (requests === undefined) return true
  for (const request of requests) if (policies.every((policy) => mayMatch(policy, request))) return true
  return false
}
