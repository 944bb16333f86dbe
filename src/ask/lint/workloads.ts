import type { Features } from '../../core/feature/combine.ts'
import { unlabelledWaits } from '../../core/reconcile/record/unlabelled-pods.ts'
import { MESH_LABELS } from '../../core/relations/mesh-labels.ts'
import type { State } from '../../core/state/state.ts'
import { describeCondition } from '../../platform/base/condition.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { candidateKinds } from '../../platform/kubernetes/apply-labels.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { podTemplate } from '../../platform/kubernetes/pod-like.ts'
import { isPodOf } from '../../platform/kubernetes/pods.ts'
import type { Cluster } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'

/**
 * Reports a StatefulSet and a Deployment of the same name, because an application labels only the StatefulSet. It also reports pods that lack labels of
 * their template.
 */
export const workloadFindings = (
  { targets }: Pick<Features, 'targets'>,
  { namespace, workloads, pods }: Cluster,
  known: readonly { readonly subject: Subject; readonly state: State }[],
): Found[] => {
  const of = (kind: string) =>
    new Set(workloads.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name))
  const [ordered, deployed] = [of('StatefulSet'), of('Deployment')]
  const labelled = known.flatMap(({ subject, state }) =>
    targets(subject.application, state.config)
      .filter(({ kind }) => kind === 'Workload')
      .map(({ name }) => ({ subject, state, name })),
  )
  // the waits of an application already report its pods
  const others = workloads.filter(({ metadata }) => !labelled.some(({ name }) => name === metadata.name))
  return [
    ...labelled
      .filter(({ name }) => ordered.has(name) && deployed.has(name))
      .map(({ subject, state, name }) => {
        const [first, other] = candidateKinds(state.workloadKind)
        return {
          rule: 'workload-twice' as const,
          about: subjectName(subject),
          message:
            `${first} and ${other} ${namespace}/${name} have one name, and labels go to the ${first} alone: ` +
            `delete or rename the one that is not meant`,
        }
      }),
    ...others.flatMap((workload) => unlabelled(workload, pods)),
  ]
}

/** Reports pods that lack labels of their template. Only labels that Istio reads count, because controllers set others on each pod. */
const unlabelled = (workload: KubernetesObject, pods: readonly KubernetesObject[]): Found[] => {
  const { namespace = '', name: application } = workload.metadata
  const template = podTemplate(workload).metadata?.labels ?? {}
  const wanted = Object.fromEntries(Object.entries(template).filter(([key]) => MESH_LABELS.has(key)))
  const running = { workload, pods: pods.filter((pod) => isPodOf(workload, pod)) }
  return unlabelledWaits({ namespace, application }, running, wanted).map((wait) =>
    foundIn(workload, 'pods-unlabelled', describeCondition(wait)),
  )
}
