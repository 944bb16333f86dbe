import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { type KubernetesObject, nameOf } from '../../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import { podLabels, podTemplate } from '../../../platform/kubernetes/pod-like.ts'
import { reasonToStay, type Stays } from '../../../platform/kubernetes/rollout.ts'
import { isAvailable } from '../../workload/health.ts'
import { workloadManager } from '../../workload/objects.ts'
import type { Running } from '../observe/units.ts'

type Labels = Readonly<Record<string, string>>

/** A pod that lacks labels of its workload's template, and that is not being replaced. */
type Left = Stays & { readonly pod: KubernetesObject; readonly lacks: readonly string[] }

/**
 * Returns the waits for pods that lack labels of their workload's template, and that are not being replaced. They are not on the mesh, or
 * not like the application. Pods of a current rollout are not listed.
 */
export const unlabelledWaits = (
  subject: Subject,
  { workload, pods = [], unowned = [] }: Running,
  desired: Labels,
): Condition[] => {
  if (workload === undefined) return pods.flatMap((pod) => newPodWait(pod, desired))
  const template = podLabels(podTemplate(workload))
  const wanted = Object.entries(desired).filter(([key, value]) => ownValue(template, key) === value)
  const left = [...pods, ...unowned].flatMap((pod): Left[] => {
    const lacks = wanted.filter(([key, value]) => ownValue(pod.metadata.labels, key) !== value)
    const reason = lacks.length === 0 ? undefined : unowned.includes(pod) ? UNOWNED : reasonIn(workload, pod)
    return reason === undefined ? [] : [{ ...reason, pod, lacks: lacks.map((label) => label.join('=')) }]
  })
  return [...Map.groupBy(left, ({ why }) => why).values()].map((alike) => leftWait(subject, workload, alike))
}

/** Returns the reason why a pod lacks labels for good. Undefined if it is being replaced. */
const reasonIn = (workload: KubernetesObject, pod: KubernetesObject): Stays | undefined =>
  reasonToStay(workload, pod) ?? (isAvailable(workload) ? CHANGED : undefined)

/** Returns the wait for a pod that is labelled in place and is newer than the labels of its application. */
const newPodWait = ({ kind, metadata }: KubernetesObject, desired: Labels): Condition[] => {
  const lacks = Object.keys(desired).filter((key) => ownValue(metadata.labels, key) === undefined)
  const name = nameOf({ kind, ...metadata })
  const message = `${name} lacks labels, ${lacks.join(', ')}: its pod-restarted, or a resync, sets them`
  return lacks.length === 0 ? [] : [waitFor([name], 'PodsUnlabelled', name, message)]
}

const UNOWNED: Stays = { why: 'no workload controls them', end: 'delete them, or give them the labels' }

const CHANGED: Stays = {
  why: 'somebody has changed their labels',
  end: 'delete them; if new ones lack the labels as well, an admission webhook takes them off',
}

const MOST_NAMED = 3

const leftWait = ({ application }: Subject, workload: KubernetesObject, left: readonly Left[]): Condition => {
  const { namespace } = workload.metadata
  const of = nameOf({ kind: workload.kind, namespace, name: workload.metadata.name })
  const names = left.map(({ pod }) => pod.metadata.name).toSorted()
  const more = names.length - MOST_NAMED
  const named = [...names.slice(0, MOST_NAMED), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  const lacks = [...new Set(left.flatMap((one) => one.lacks))].join(', ')
  const [{ why = '', end = '' } = {}] = left
  const pods = names.slice(0, MOST_NAMED).map((name) => nameOf({ kind: 'Pod', namespace, name }))
  const message = `pods of ${of} lack labels of its template, ${lacks}, as ${why} (${named}): ${end}`
  return {
    ...waitFor(pods, 'PodsUnlabelled', of, message),
    ...defined({ since: beginning(application, workload, left) }),
  }
}

/** Returns the start of the wait: the creation of the first pod, or the last apply of the labels, whichever is later. */
const beginning = (
  application: string,
  { metadata: { managedFields = [] } }: KubernetesObject,
  left: readonly Left[],
): string | undefined => {
  const [came] = left
    .flatMap(({ pod }) => pod.metadata.creationTimestamp ?? [])
    .map(String)
    .toSorted()
  const managers = [fieldManager(application), workloadManager(application)]
  const applied = managedFields.filter(({ manager }) => managers.includes(manager)).map(({ time }) => time)
  return [came, ...applied]
    .flatMap((time) => (typeof time === 'string' ? [time] : []))
    .toSorted()
    .at(-1)
}
