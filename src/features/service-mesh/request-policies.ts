import { meshEndpoint } from '../../core/policies/endpoint.ts'
import type { MeshPolicy, Policy } from '../../core/policies/models.ts'
import type { CrossModelIdentity } from '../../core/relations/databags/cross-model.ts'
import { relationName } from '../../core/state/relation.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import type { RemoteName } from '../../platform/base/subject.ts'

/** A relation as one side sees it. `remote.application` may be an alias. `remote.namespace` comes from the platform. */
export type PolicyRelation = {
  readonly id: number
  readonly endpoint: string
  readonly interface?: string
  readonly role?: 'provides' | 'requires' | 'peers'
  readonly remote: RemoteName
  /** The name is an alias of an application in another namespace, which the platform may not know. */
  readonly isAlias?: boolean
  /** The identity of the peer, as it says over `cross_model_mesh`. */
  readonly identity?: CrossModelIdentity
}

/** A policy of an application. With `only`, it is about the relations of this interface and role, not about all of its endpoint. */
export type AskedPolicy = Policy & {
  readonly only?: { readonly interface: string; readonly role: NonNullable<PolicyRelation['role']> }
}

export type RequestPoliciesInput = {
  readonly namespace: string
  readonly application: string
  readonly policies: readonly AskedPolicy[]
  readonly relations: readonly PolicyRelation[]
}

/** The requests, each with the relation that it follows from. `waiting` has the relations without a request so far. */
export type RequestedPolicies = {
  readonly requested: { readonly policy: MeshPolicy; readonly relation: PolicyRelation }[]
  readonly waiting: Condition[]
}

/**
 * Derives one request for each entry of `policies`, in order, and each relation of its endpoint, by id. A relation with another namespace waits for the
 * peer's identity, because a guess might admit another client.
 */
export const requestPolicies = (request: RequestPoliciesInput): RequestedPolicies => {
  const sources = request.relations
    .filter((relation) => request.policies.some((policy) => isAbout(policy, relation)))
    .toSorted((one, other) => one.id - other.id)
    .map((relation) => ({ relation, source: findSource(relation, request) }))
  return {
    requested: request.policies.flatMap((policy) =>
      sources
        .filter(({ relation }) => isAbout(policy, relation))
        .flatMap(({ relation, source }) =>
          'waiting' in source ? [] : [{ policy: meshPolicy(policy, source, request), relation }],
        ),
    ),
    waiting: sources.flatMap(({ source }) => ('waiting' in source ? [source.waiting] : [])),
  }
}

const isAbout = ({ relation: endpoint, only }: AskedPolicy, relation: PolicyRelation): boolean =>
  relation.endpoint === endpoint &&
  (only === undefined || (relation.interface === only.interface && relation.role === only.role))

const findSource = (
  { id, endpoint, role, remote, isAlias, identity }: PolicyRelation,
  { namespace, application }: RequestPoliciesInput,
): CrossModelIdentity | { waiting: Condition } => {
  if (role === 'peers') return { namespace, application }
  const object = relationName({ id, endpoint })
  const waitingFor = (why: string) => ({
    waiting: waitFor([remote.application], 'IdentityUnknown', object, `${object}: ${remote.application} ${why}`),
  })
  if (identity === undefined) {
    if (isAlias !== true && (remote.namespace ?? namespace) === namespace)
      return { namespace, application: remote.application }
    return waitingFor('is in another model; waiting for its cmr_data (cross_model_mesh) to name it')
  }
  if (remote.namespace !== undefined && remote.namespace !== identity.namespace)
    return waitingFor(`is in ${remote.namespace}, its cmr_data says ${identity.namespace}; waiting for them to agree`)
  return identity
}

const meshPolicy = (
  policy: Policy,
  source: CrossModelIdentity,
  { namespace, application }: RequestPoliciesInput,
): MeshPolicy => ({
  source_namespace: source.namespace,
  source_app_name: source.application,
  target_namespace: namespace,
  target_app_name: application,
  target_selector_labels: null,
  target_service: policy.type === 'app' ? (policy.service ?? null) : null,
  target_type: policy.type,
  endpoints: policy.type === 'app' ? policy.endpoints.map(meshEndpoint) : portsEndpoint(policy.ports ?? []),
})

const portsEndpoint = (ports: number[]): MeshPolicy['endpoints'] => (ports.length > 0 ? [meshEndpoint({ ports })] : [])
