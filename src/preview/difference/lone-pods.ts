import { isGateway, type PodLike, serviceAccountName } from '../../authorization/pods.ts'
import { type Subject, subjectName } from '../../base/subject.ts'
import type { KubernetesObject } from '../../kubernetes/objects.ts'
import { controllerNamed, isLive } from '../../kubernetes/pods.ts'
import type { Account } from './clients.ts'
import { indexOf } from './index-of.ts'
import { accountName } from './policy-sources.ts'

/** Pods that are of no StatefulSet, no Deployment and no Gateway: of jobs, daemons, and by themselves. */
export type LonePods = {
  /** By what controls them, else by themselves. */
  readonly subjects: readonly Subject[]
  readonly accounts: readonly Account[]
  named(subject: Subject): readonly PodLike[] | undefined
  runningAs(account: Account): readonly PodLike[] | undefined
}

export const lonePods = (objects: readonly KubernetesObject[]): LonePods => {
  const pods = objects.filter((one) => one.kind === 'Pod' && isLive(one) && isLone(one))
  const byName = indexOf(pods, (pod) => [subjectName(subjectOf(pod))])
  const byAccount = indexOf(pods, (pod) => [accountName(accountOf(pod))])
  return {
    subjects: [...byName.values()].flatMap(([pod]) => (pod ? [subjectOf(pod)] : [])),
    accounts: [...byAccount.values()].flatMap(([pod]) => (pod ? [accountOf(pod)] : [])),
    named: (subject) => byName.get(subjectName(subject)) as readonly PodLike[] | undefined,
    runningAs: (account) => byAccount.get(accountName(account)) as readonly PodLike[] | undefined,
  }
}

const isLone = (pod: KubernetesObject): boolean =>
  !['StatefulSet', 'Deployment'].includes(controllerNamed(pod)?.kind ?? '') && !isGateway(pod as PodLike)

const subjectOf = (pod: KubernetesObject): Subject => ({
  namespace: pod.metadata.namespace ?? '',
  application: controllerNamed(pod)?.name ?? pod.metadata.name,
})

const accountOf = (pod: KubernetesObject): Account => ({
  namespace: pod.metadata.namespace ?? '',
  serviceAccount: serviceAccountName(pod as PodLike),
})
