import type { Subject } from '../base/subject.ts'
import type { SeenLabels } from '../kubernetes/label-difference.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { ownerLabels } from '../kubernetes/owner.ts'
import { acceptanceProblem } from './acceptance.ts'
import { attachmentKey, isForAll, isGuarding } from './attachment.ts'
import { audited } from './audit.ts'
import { type AuthorizationPolicySpec, isDenying, type Rule } from './authorization-policy.ts'
import { isDryRun } from './dry-run.ts'
import { authorizationPolicies, type Guard, type PolicyRequest } from './grant.ts'
import { type IdentityConfig, identitiesIn } from './identities.ts'
import { modelLabels } from './namespace-labels.ts'
import { widened } from './parts.ts'
import { requestersOf } from './requested-by.ts'

const isPolicy = ({ kind }: KubernetesObject): boolean => kind === 'AuthorizationPolicy'

const rulesOf = ({ spec }: KubernetesObject): readonly Rule[] => (spec as AuthorizationPolicySpec).rules ?? []

/** Istio in ambient mode. */
export const istio = {
  policies: (
    subject: Subject,
    config: IdentityConfig | undefined,
    requests: readonly PolicyRequest[],
    guards: readonly Guard[],
  ) => authorizationPolicies(requests, { ...subject, labels: ownerLabels(subject), ...identitiesIn(config) }, guards),
  audited,
  isPolicy,
  isDenying,
  isDryRun,
  isForAll,
  isGuarding,
  targetOf: attachmentKey,
  requestersOf,
  widened: (policies: readonly KubernetesObject[]) => {
    const [first] = policies
    const allowing = policies.filter((object) => isPolicy(object) && !isDenying(object))
    const rules = allowing.length > 1 ? widened(allowing.flatMap(rulesOf)) : undefined
    return first && rules && { ...first, spec: { ...first.spec, rules } }
  },
  acceptanceProblem,
  namespaceLabels: (subject: Subject, config: IdentityConfig | undefined, seen: SeenLabels, isKept: boolean) =>
    modelLabels(subject, isKept && config?.mesh ? { ...config.mesh, modelOnMesh: true } : config?.mesh, seen),
}
