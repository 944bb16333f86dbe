import { MeshPolicy } from '../../core/policies/models.ts'
import { readOrLast } from '../../core/relations/databags/last-readable.ts'
import { readPolicies } from '../../core/relations/databags/policies-databag.ts'
import { requesterName } from '../../core/relations/requester-names.ts'
import type { Databag, Relation } from '../../core/state/relation.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Guarded } from './declared-targets.ts'

/** A consumer, and the name of its relation in messages and in annotations of policies. */
export type Requester = Subject & { readonly relation: string }

/**
 * A target, as a policy in which the requester itself is the source. `unrelated` lists the endpoints without a relation, for a message that nothing is
 * granted there.
 */
export type DeclaredTarget = { readonly policy: MeshPolicy; readonly unrelated?: readonly string[] }

/** The requests of a consumer, and its declared targets. These include the targets of unreadable requests. */
export type ConsumerRequests = {
  readonly requester: Requester
  readonly policies: readonly MeshPolicy[]
  readonly declared: readonly DeclaredTarget[]
  readonly problems: readonly string[]
  readonly isUnknown: boolean
}

/** Reads a consumer's databag. An unreadable key keeps its last readable value. The consumer itself declares targets by its config as well. */
export const readRequests = (
  subject: Subject,
  relation: Relation,
  declared: readonly Guarded[] = [],
): ConsumerRequests => {
  const { namespace = subject.namespace, application } = relation.remote
  const requester = { namespace, application, relation: requesterName(subject, relation) }
  const requests = lastReadable(relation, 'policies', readPolicies)
  const { policies = [], invalid = [] } = requests.value ?? {}
  return {
    requester,
    policies,
    declared: [
      ...declareTargets(requester, declared),
      ...policies.map((policy) => ({ policy: { ...policy, ...policySource(requester) } })),
      ...invalid.flatMap((element) => findTargets(requester, element)),
    ],
    problems: requests.problems.map((problem) => `${requester.relation}: ${problem}`),
    isUnknown: requests.value === undefined,
  }
}

type Readable = { readonly problems: string[] }

/** Reads a key, or its last readable value. The value is undefined if it was never readable. */
const lastReadable = <T extends Readable>(
  { remote, lastReadable }: Relation,
  key: string,
  reader: (databag: Databag) => T | { unreadable: string },
): { value: T | undefined; problems: readonly string[] } => {
  const { value, unreadable } = readOrLast(remote.data, lastReadable, key, reader)
  const problems =
    unreadable === undefined ? value?.problems : [`${unreadable}; the last readable data stays in effect`]
  return { value, problems: problems ?? [] }
}

export const declareTargets = (requester: Subject, guards: readonly Guarded[]): DeclaredTarget[] =>
  guards.map((guarded) => ({
    policy: targetPolicy(requester, guarded),
    ...(guarded.unrelated?.length && { unrelated: guarded.unrelated }),
  }))

/** Builds the policy that names a target. Its source has no meaning. */
const targetPolicy = (requester: Subject, { type, service }: Guarded): MeshPolicy => ({
  ...policySource(requester),
  target_namespace: requester.namespace,
  target_app_name: requester.application,
  target_selector_labels: null,
  target_service: type === 'app' ? (service ?? null) : null,
  target_type: type,
  endpoints: [],
})

const policySource = ({ namespace, application }: Subject) => ({
  source_namespace: namespace,
  source_app_name: application,
})

/** Finds the target of an invalid request. If the target is unreadable too, the result is all possible targets. */
const findTargets = (requester: Requester, element: unknown): DeclaredTarget[] => {
  const fields = typeof element === 'object' && element !== null ? element : {}
  const { data } = MeshPolicy.safeParse({ ...fields, ...policySource(requester), endpoints: [] })
  if (data) return [{ policy: data, unrelated: [] }]
  return (['app', 'unit'] as const).map((type) => ({ policy: targetPolicy(requester, { type }) }))
}
