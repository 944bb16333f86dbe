import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { type KubernetesObject, nameOf, objectKey } from '../../../platform/kubernetes/objects.ts'
import { type PodLike, podLabels } from '../../../platform/kubernetes/pod-like.ts'
import { isSelecting } from '../../../platform/kubernetes/services.ts'
import { type Account, accountsOf } from '../../authorization/accounts.ts'
import { isLonePod, lonePodName, saidWorkload } from '../../authorization/pods.ts'
import type { Side } from '../../authorization/side.ts'
import { indexOf } from './index-of.ts'
import { accountName } from './policy-sources.ts'

/** Pods without a StatefulSet, Deployment or Gateway: those of jobs and DaemonSets, single pods, and pods that a deleted workload left behind. */
export type LonePods = {
  /** Named by their controller, else by the pod. Pods behind a Service of the same name are left out. */
  readonly subjects: readonly Side[]
  readonly accounts: readonly Account[]
  named(subject: Subject): readonly PodLike[] | undefined
  runningAs(account: Account): readonly PodLike[] | undefined
}

export const lonePods = (objects: readonly KubernetesObject[]): LonePods => {
  const workloads = new Map(
    objects.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment').map((one) => [objectKey(one), one]),
  )
  const workloadOf = (pod: KubernetesObject) => {
    const said = saidWorkload(pod)
    return said && workloads.get(nameOf(said))
  }
  const pods = objects.filter((one) => one.kind === 'Pod' && isLonePod(one, workloadOf(one)))
  const byName = indexOf(pods, (pod) => [subjectName(subjectOf(pod))])
  const byAccount = indexOf(pods, (pod) => accountsOf(pod).map(accountName))
  const isExposed = exposedIn(objects)
  return {
    subjects: [...byName.values()].flatMap((alike) =>
      alike[0] && !isExposed(subjectOf(alike[0]), alike) ? [{ kind: 'pod', ...subjectOf(alike[0]) }] : [],
    ),
    accounts: [...byAccount.values()].flatMap(([pod]) => (pod ? accountsOf(pod) : [])),
    named: (subject) => byName.get(subjectName(subject)),
    runningAs: (account) => byAccount.get(accountName(account)),
  }
}

/** Prepares the test if pods belong to a Service whose name no workload has. */
const exposedIn = (objects: readonly KubernetesObject[]) => {
  const named = (...kinds: string[]) =>
    new Map(
      objects
        .filter(({ kind }) => kinds.includes(kind))
        .map((one) => [subjectName({ namespace: one.metadata.namespace ?? '', application: one.metadata.name }), one]),
    )
  const [services, workloads] = [named('Service'), named('StatefulSet', 'Deployment')]
  return (subject: Subject, pods: readonly KubernetesObject[]): boolean => {
    const name = subjectName(subject)
    const service = services.get(name)
    return service !== undefined && !workloads.has(name) && pods.every((pod) => isSelecting(service, podLabels(pod)))
  }
}

const subjectOf = (pod: KubernetesObject): Subject => ({
  namespace: pod.metadata.namespace ?? '',
  application: lonePodName(pod),
})
