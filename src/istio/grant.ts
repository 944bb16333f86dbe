import { type AuthorizationPolicy, authorizationPolicy } from './authorization-policy.ts'
import { groups } from './groups.ts'
import type { MeshPolicy } from './models.ts'
import { principal } from './names.ts'
import { type NameOwner, objectName } from './object-name.ts'
import { type Rights, rightsOf, union } from './operations.ts'
import { type Part, partsOf } from './parts.ts'
import { REQUESTED_BY, requestedBy } from './requested-by.ts'
import { type Holder, rulesFor } from './rules.ts'
import { type Target, targetKey, targetOf } from './target.ts'

/** `relation` says who asked, for a person: `relation 7 (service-mesh) of shop/web`. */
export type PolicyRequest = { readonly policy: MeshPolicy; readonly relation: string }

/** A target that stays guarded while nothing is granted there, but for `principals`, who may always pass. */
export type Guard = { readonly target: Target; readonly relation: string; readonly principals?: readonly string[] }

export type Owner = NameOwner & {
  readonly trustDomain: string
  /** The trust domains of the callers of a namespace. @default `trustDomain` alone */
  readonly trustDomains?: ((namespace: string) => readonly string[]) | undefined
  /** The ServiceAccount that the pods of an application run as. @default the application's name */
  readonly serviceAccount?: ((namespace: string, application: string) => string) | undefined
  /** Mark the objects as the owner's. */
  readonly labels: Readonly<Record<string, string>>
}

/** What a request or a guard contributes to the object of a target. */
type Claim = { readonly target: Target; readonly relation: string; readonly holders: readonly Holder[] }

/**
 * The AuthorizationPolicies that allow what is requested and nothing else: one for each target, so that a target goes from open to
 * guarded in one write, and one that allows nothing for a target that is only guarded. The result is the same whatever the order of the
 * requests, and however often one is repeated.
 */
export const authorizationPolicies = (
  requests: readonly PolicyRequest[],
  owner: Owner,
  guards: readonly Guard[] = [],
): AuthorizationPolicy[] =>
  groups([...requests.flatMap((request) => grantOf(request, owner)), ...guards.map(claimOf)], ({ target }) =>
    targetKey(target),
  ).flatMap(([, claims]) =>
    claims.slice(0, 1).flatMap(({ target }) => {
      const guarding = claims.filter(({ holders }) => holders.length === 0).map(({ relation }) => relation)
      return partsOf(holdersOf(claims.flatMap(({ holders }) => holders))).map((part) =>
        objectFor(target, part, guarding, owner),
      )
    }),
  )

const claimOf = ({ target, relation, principals = [] }: Guard): Claim => ({
  target,
  relation,
  holders: principals.map((principal) => ({ principal, rights: 'everything', relations: [relation] })),
})

const grantOf = (
  { policy, relation }: PolicyRequest,
  { trustDomain, trustDomains = () => [trustDomain], serviceAccount }: Owner,
): Claim[] => {
  const target = targetOf(policy)
  const rights = rightsOf(policy)
  if (target === undefined || isNothing(rights)) return []
  const { source_namespace: namespace, source_app_name: application } = policy
  const account = serviceAccount?.(namespace, application) ?? application
  const principals = trustDomains(namespace).map((domain) =>
    principal({ trustDomain: domain, namespace, serviceAccount: account }),
  )
  return [{ target, relation, holders: principals.map((name) => ({ principal: name, rights, relations: [relation] })) }]
}

const isNothing = (rights: Rights): boolean => rights !== 'everything' && rights.length === 0

const holdersOf = (grants: readonly Holder[]): Holder[] =>
  groups(grants, (grant) => grant.principal).map(([name, held]) => ({
    principal: name,
    rights: union(held.map(({ rights }) => rights)),
    relations: held.flatMap(({ relations }) => relations),
  }))

/** ALLOW is the default of Istio; it is written out so that `kubectl get` shows it, and nobody has to know. Without rules it allows nothing. */
const objectFor = (
  target: Target,
  { path, holders }: Part,
  guarding: readonly string[],
  owner: Owner,
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
