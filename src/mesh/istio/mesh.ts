import type { Guard, RequestedPolicy } from '../../core/policies/request.ts'
import { parseRequesters } from '../../core/policies/requested-by.ts'
import { ENROLMENT_LABEL, USE_WAYPOINT_LABEL } from '../../core/relations/mesh-labels.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { SeenLabels } from '../../platform/kubernetes/label-difference.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { ownerLabels } from '../../platform/kubernetes/ownership-labels.ts'
import { causeIn, causeLookups, unenforced, withCause } from './acceptance.ts'
import { attachmentKey, isForAll, isForPods, isGuarding } from './attachment.ts'
import { auditPolicies } from './audit.ts'
import { isDenying, type Rule, specOf } from './authorization-policy.ts'
import { captureOf, isMarked } from './capture.ts'
import { isDryRun } from './dry-run.ts'
import { authorizationPolicies } from './grant.ts'
import { type IdentityConfig, resolveIdentities } from './identities.ts'
import { meshLabels, WAYPOINT_SUFFIX, waypointName } from './names.ts'
import { modelLabels } from './namespace-labels.ts'
import { policyPrefix } from './object-name.ts'
import { widenRules } from './policy-parts.ts'
import { principalsIn } from './rule-values.ts'
import { isServing } from './waypoint.ts'

const isPolicy = ({ kind }: KubernetesObject): boolean => kind === 'AuthorizationPolicy'

const rulesOf = (policy: KubernetesObject): readonly Rule[] => specOf(policy).rules ?? []

/** Istio in ambient mode. */
export const istio = {
  policies: (
    subject: Subject,
    config: IdentityConfig | undefined,
    requests: readonly RequestedPolicy[],
    guards: readonly Guard[],
  ) =>
    authorizationPolicies(requests, { ...subject, labels: ownerLabels(subject), ...resolveIdentities(config) }, guards),
  audited: auditPolicies,
  mayAskFor: ({ namespace, application }: Subject, labels: Readonly<Record<string, string>>) => {
    const waypoint = ownValue(labels, USE_WAYPOINT_LABEL)
    return !waypoint?.endsWith(WAYPOINT_SUFFIX) || waypoint === waypointName(namespace, application)
  },
  isOfBeacon: ({ metadata }: KubernetesObject, beacon: Subject) => metadata.name.startsWith(`${policyPrefix(beacon)}-`),
  ledBy: ({ namespace: model, application }: Subject) =>
    Object.entries(meshLabels({ model, application }))
      .map((label) => label.join('='))
      .join(','),
  isPolicy,
  capture: captureOf,
  isMarked,
  enrolment: { key: ENROLMENT_LABEL, value: 'ambient' },
  isDenying,
  isDryRun,
  isForAll,
  isForPods,
  isGuarding,
  targetOf: attachmentKey,
  isBasis: ({ kind }: KubernetesObject) => kind === 'Gateway',
  clientsOf: (object: KubernetesObject) => (isDenying(object) ? [] : rulesOf(object).flatMap(principalsIn)),
  requestersOf: parseRequesters,
  widened: (policies: readonly KubernetesObject[]) => {
    const [first] = policies
    const allowing = policies.filter((object) => isPolicy(object) && !isDenying(object))
    const rules = allowing.length > 1 ? widenRules(allowing.flatMap(rulesOf)) : undefined
    return first && rules && { ...first, spec: { ...first.spec, rules } }
  },
  unenforced,
  causeLookups,
  causeIn,
  withCause,
  namespaceLabels: (
    subject: Subject,
    { mesh }: IdentityConfig = {},
    seen: SeenLabels,
    lookups: Lookups,
    isKept: boolean,
  ) =>
    modelLabels(
      subject,
      isKept && mesh ? { ...mesh, modelOnMesh: true } : mesh,
      seen,
      isServing(subject, mesh ?? {}, lookups),
    ),
}
