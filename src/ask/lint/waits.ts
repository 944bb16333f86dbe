import { isPending } from '../../core/policies/unenforced.ts'
import { meshConfigs, withCauses } from '../../core/reconcile/observe/accepted-objects.ts'
import type { Peers } from '../../core/relations/peers.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { type Condition, describeCondition } from '../../platform/base/condition.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { MANAGED_BY } from '../../platform/kubernetes/ownership-labels.ts'
import { type AssessDependencies, assess } from '../views/assess.ts'
import type { Found } from './finding.ts'

/** Reports what is open at applications, and labels that are not applied. */
export const waitFindings = async (
  dependencies: AssessDependencies,
  subjects: readonly Subject[],
): Promise<Found[]> => {
  const findings: Found[] = []
  for (const subject of subjects) {
    const memory = await dependencies.features.memories.load(dependencies.kubernetes, subject)
    const { conditions, labels, peers } = await assess(dependencies, subject, memory)
    const about = subjectName(subject)
    findings.push(
      ...conditions
        .filter((one) => !isFoundElsewhere(one, peers))
        .map((one) => ({ rule: ruleOf(one, dependencies.clock), about, message: describeCondition(one) })),
      ...labels.messages.map((message) => ({ rule: 'label-refused' as const, about, message })),
    )
  }
  return findings
}

/** Lint sees the policies themselves, and reports grants without effect of all workloads. A memory that cannot be read has a finding of its own. */
const isFoundElsewhere = ({ reason, message }: Condition, peers: Peers): boolean =>
  reason === 'AccountNotGranted' ||
  (reason === 'DataUnserved' && [...peers.values()].some((peer) => 'problem' in peer && message.includes(peer.problem)))

/** Reports policies of others that the mesh refuses, or has not taken yet. Policies of applications are among their waits. */
export const unenforcedFindings = async (
  { features: { mesh }, kubernetes, clock }: Pick<AssessDependencies, 'features' | 'kubernetes' | 'clock'>,
  policies: readonly KubernetesObject[],
  isTold: (refused: KubernetesObject) => boolean,
): Promise<Found[]> => {
  const isOurs = ({ metadata }: KubernetesObject) => ownValue(metadata.labels, MANAGED_BY) === 'meshstep'
  const namespace = policies[0]?.metadata.namespace ?? ''
  const configs = await meshConfigs(mesh, kubernetes, namespace, { objects: policies, witnesses: [] })
  const found = mesh
    .unenforced(policies, configs)
    .filter((one) => !isOurs(one.live) && (isPending(one) || !isTold(one.live)))
  const conditions = await withCauses(mesh, kubernetes, found)
  return found.map((one, index) => {
    const known = conditions[index] ?? one.condition
    const rule = isPending(one) ? ruleOf(known, clock) : 'policy-unenforced'
    return { rule, about: known.object, message: describeCondition(known), in: one.live }
  })
}

/** The interval of a resync, and the same time again for the resync to finish. */
const RESYNCED = 30 * 60 * 1000

/** Selects the finding for a condition. A wait that a resync did not end is long. */
const ruleOf = ({ type, reason, since }: Condition, clock: Pick<Clock, 'now'>): Found['rule'] => {
  if (reason === 'PodsUnlabelled') return 'pods-unlabelled'
  if (reason === 'DataUnserved') return 'databag-unserved'
  if (reason === 'LabelRefused') return 'label-refused'
  if (type === 'Error' || type === 'Blocked') return 'blocked'
  return since !== undefined && clock.now() - Date.parse(since) > RESYNCED ? 'waiting-long' : 'waiting'
}
