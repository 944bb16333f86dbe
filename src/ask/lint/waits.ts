import { meshConfigs, withCauses } from '../../core/reconcile/observe/accepted-objects.ts'
import { GRANTS_OF } from '../../core/reconcile/record/other-account-pods.ts'
import { LABELS_OF_PODS } from '../../core/reconcile/record/unlabelled-pods.ts'
import type { Peers } from '../../core/relations/peers.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { describeWait, type Wait } from '../../platform/base/wait.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { MANAGED_BY } from '../../platform/kubernetes/ownership-labels.ts'
import { type AssessDependencies, assess } from '../views/assess.ts'
import type { Found } from './finding.ts'

/** Reports waits of applications for others, labels that are not applied, and what relations tell and cannot be served. */
export const waitFindings = async (
  dependencies: AssessDependencies,
  subjects: readonly Subject[],
): Promise<Found[]> => {
  const findings: Found[] = []
  for (const subject of subjects) {
    const memory = await dependencies.features.memories.load(dependencies.kubernetes, subject)
    const { waiting, labels, unserved, peers } = await assess(dependencies, subject, memory)
    const about = subjectName(subject)
    findings.push(
      // lint sees the policies themselves, and reports grants without effect of all workloads
      ...waiting
        .filter(({ held }) => !held.startsWith(GRANTS_OF))
        .map((wait) => ({ rule: waitRule(wait, dependencies.clock), about, message: describeWait(wait) })),
      ...labels.messages.map((message) => ({ rule: 'label-refused' as const, about, message })),
      // an unreadable memory has a finding of its own
      ...unserved.filter(isOfDatabag(peers)).map((message) => ({ rule: 'databag-unserved' as const, about, message })),
    )
  }
  return findings
}

const isOfDatabag =
  (peers: Peers) =>
  (message: string): boolean =>
    ![...peers.values()].some((peer) => 'problem' in peer && message.includes(peer.problem))

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
    .filter(({ is, object }) => !isOurs(object) && !(is === 'refused' && isTold(object)))
  const waits = await withCauses(mesh, kubernetes, found)
  return found.map(({ is, object }, index) => {
    const wait = waits[index] as Wait
    const rule = is === 'refused' ? 'policy-unenforced' : waitRule(wait, clock)
    return { rule, about: wait.held, message: describeWait(wait), in: object }
  })
}

/** The interval of a resync, and the same time again for the resync to finish. */
const RESYNCED = 30 * 60 * 1000

/** Selects the finding for a wait. A wait that a resync did not end is long. Pods that nothing replaces wait for a person. */
const waitRule = ({ held, since }: Wait, clock: Pick<Clock, 'now'>): Found['rule'] => {
  if (held.startsWith(LABELS_OF_PODS)) return 'pods-unlabelled'
  return since !== undefined && clock.now() - Date.parse(since) > RESYNCED ? 'waiting-long' : 'waiting'
}
