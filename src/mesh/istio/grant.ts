import type { Guard, RequestedPolicy } from '../../core/policies/request.ts'
import { REQUESTED_BY, requestedBy } from '../../core/policies/requested-by.ts'
import { findTarget, type PolicyTarget, targetKey } from '../../core/policies/target.ts'
import { sortedGroups } from '../../platform/base/sorted-groups.ts'
import { type AuthorizationPolicy, authorizationPolicy } from './authorization-policy.ts'
import { principal } from './names.ts'
import { type NameOwner, objectName } from './object-name.ts'
import { mergeRights, parseRights, type Rights } from './operations.ts'
import { type PolicyPart, splitGrantees } from './policy-parts.ts'
import { type Grantee, rulesFor } from './rules.ts'

export type PolicyOwner = NameOwner & {
  readonly trustDomain: string
  /** The trust domains of callers in a namespace. @default only `trustDomain` */
  readonly trustDomains?: ((namespace: string) => readonly string[]) | undefined
  /** The ServiceAccount of an application's pods. @default the application's name */
  readonly serviceAccount?: ((namespace: string, application: string) => string) | undefined
  /** Labels that mark the objects as the owner's. */
  readonly labels: Readonly<Record<string, string>>
}

/** The contribution of one request or guard to a target's policy. */
type Claim = { readonly target: PolicyTarget; readonly relation: string; readonly holders: readonly Grantee[] }

/**
 * Builds the AuthorizationPolicies that allow exactly the requests. Each target has one policy, so that it becomes guarded in one write. A target that is
 * only guarded has an empty policy. The order and repetition of requests do not matter.
 */
export const authorizationPolicies = (
  requests: readonly RequestedPolicy[],
  owner: PolicyOwner,
  guards: readonly Guard[] = [],
): AuthorizationPolicy[] =>
  sortedGroups(
    [...requests.flatMap((request) => grantClaims(request, owner)), ...guards.map(guardClaim)],
    ({ target }) => targetKey(target),
  ).flatMap(([, claims]) =>
    claims.slice(0, 1).flatMap(({ target }) => {
      const guarding = claims.filter(({ holders }) => holders.length === 0).map(({ relation }) => relation)
      return splitGrantees(mergeHolders(claims.flatMap(({ holders }) => holders))).map((part) =>
        objectFor(target, part, guarding, owner),
      )
    }),
  )

const guardClaim = ({ target, relation, principals = [] }: Guard): Claim => ({
  target,
  relation,
  holders: principals.map((principal) => ({ principal, rights: 'everything', relations: [relation] })),
})

const grantClaims = (
  { policy, relation }: RequestedPolicy,
  { trustDomain, trustDomains = () => [trustDomain], serviceAccount }: PolicyOwner,
): Claim[] => {
  const target = findTarget(policy)
  const rights = parseRights(policy)
  if (target === undefined || isNothing(rights)) return []
  const { source_namespace: namespace, source_app_name: application } = policy
  const account = serviceAccount?.(namespace, application) ?? application
  const principals = trustDomains(namespace).map((domain) =>
    principal({ trustDomain: domain, namespace, serviceAccount: account }),
  )
  return [{ target, relation, holders: principals.map((name) => ({ principal: name, rights, relations: [relation] })) }]
}

const isNothing = (rights: Rights): boolean => rights !== 'everything' && rights.length === 0

const mergeHolders = (grants: readonly Grantee[]): Grantee[] =>
  sortedGroups(grants, (grant) => grant.principal).map(([name, held]) => ({
    principal: name,
    rights: mergeRights(held.map(({ rights }) => rights)),
    relations: held.flatMap(({ relations }) => relations),
  }))

/** Builds the policy of a target. ALLOW is Istio's default, and is written out for `kubectl get`. Without rules it allows nothing. */
const objectFor = (
  target: PolicyTarget,
  { path, holders }: PolicyPart,
  guarding: readonly string[],
  owner: PolicyOwner,
): AuthorizationPolicy =>
  authorizationPolicy({
    metadata: {
      name: objectName(owner, target, path),
      namespace: target.namespace,
      labels: { ...owner.labels },
      annotations: { [REQUESTED_BY]: requestedBy([...guarding, ...holders.flatMap(({ relations }) => relations)]) },
    },
    spec: { ...target.spec, action: 'ALLOW', ...(holders.length > 0 && { rules: rulesFor(holders) }) },
  })
