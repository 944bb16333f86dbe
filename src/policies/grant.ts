import type { MeshPolicy } from '../mesh/models.ts'
import { principal } from '../mesh/names.ts'
import { type AuthorizationPolicy, authorizationPolicy } from './authorization-policy.ts'
import { groups } from './groups.ts'
import { type NameOwner, objectName } from './object-name.ts'
import { type Rights, rightsOf, union } from './operations.ts'
import { type Part, partsOf } from './parts.ts'
import { REQUESTED_BY, requestedBy } from './requested-by.ts'
import { type Holder, rulesFor } from './rules.ts'
import { type Target, targetKey, targetOf } from './target.ts'

/** `relation` says who asked, for a person: `relation 7 (service-mesh) of shop/web`. */
export type PolicyRequest = { readonly policy: MeshPolicy; readonly relation: string }

export type Owner = NameOwner & {
  readonly trustDomain: string
  /** The ServiceAccount that the pods of an application run as. @default the application's name */
  readonly serviceAccount?: ((namespace: string, application: string) => string) | undefined
  /** Mark the objects as the owner's. */
  readonly labels: Readonly<Record<string, string>>
}

type Grant = { readonly target: Target } & Holder

/**
 * The AuthorizationPolicies that allow what is requested and nothing else: one for each target, so that a target goes from open to
 * guarded in one write. The result is the same whatever the order of the requests, and however often one is repeated.
 */
export const authorizationPolicies = (requests: readonly PolicyRequest[], owner: Owner): AuthorizationPolicy[] =>
  groups(
    requests.flatMap((request) => grantOf(request, owner)),
    ({ target }) => targetKey(target),
  ).flatMap(([, grants]) =>
    grants
      .slice(0, 1)
      .flatMap(({ target }) => partsOf(holdersOf(grants)).map((part) => objectFor(target, part, owner))),
  )

const grantOf = ({ policy, relation }: PolicyRequest, { trustDomain, serviceAccount }: Owner): Grant[] => {
  const target = targetOf(policy)
  const rights = rightsOf(policy)
  if (target === undefined || isNothing(rights)) return []
  const { source_namespace: namespace, source_app_name: application } = policy
  const account = serviceAccount?.(namespace, application) ?? application
  return [
    {
      target,
      principal: principal({ trustDomain, namespace, serviceAccount: account }),
      rights,
      relations: [relation],
    },
  ]
}

const isNothing = (rights: Rights): boolean => rights !== 'everything' && rights.length === 0

const holdersOf = (grants: readonly Grant[]): Holder[] =>
  groups(grants, (grant) => grant.principal).map(([name, held]) => ({
    principal: name,
    rights: union(held.map(({ rights }) => rights)),
    relations: held.flatMap(({ relations }) => relations),
  }))

/** ALLOW is the default of Istio; it is written out so that `kubectl get` shows it, and nobody has to know. */
const objectFor = (target: Target, { path, holders }: Part, owner: Owner): AuthorizationPolicy =>
  authorizationPolicy({
    metadata: {
      name: objectName(owner, target, path),
      namespace: target.namespace,
      labels: { ...owner.labels },
      annotations: { [REQUESTED_BY]: requestedBy(holders.flatMap(({ relations }) => relations)) },
    },
    spec: { ...target.spec, action: 'ALLOW', rules: rulesFor(holders) },
  })
