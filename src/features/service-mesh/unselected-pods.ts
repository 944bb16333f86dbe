import type { ClusterView } from '../../core/feature/feature.ts'
import { whyNotSelected } from '../../core/policies/missed-pods.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { isOnHost, type PodLike, podLabels } from '../../platform/kubernetes/pod-like.ts'
import { isSelecting, NAME_LABEL } from '../../platform/kubernetes/services.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'

/** The pods of an application, as far as they were observed. */
export type SeenPods = Pick<ClusterView, 'template' | 'pods'>

/** Reports pods without the label by which policies select them, with the remedy. A label of the config is on its way to them, unless they have another value. */
export const unselectedPods = (
  { namespace, application }: Subject,
  { config }: EffectiveState,
  seen: SeenPods,
): Condition[] => {
  const values = podsIn(seen).map((pod) => ownValue(podLabels(pod), NAME_LABEL))
  const isComing = values.every((value) => value === undefined || value === application)
  if (isComing && ownValue(config?.labels, NAME_LABEL) === application) return []
  const reason = podsIn(seen)
    .map((pod) => whyNotSelected(application, pod))
    .find((one) => one !== undefined)
  if (reason === undefined) return []
  const of = seen.template?.of ?? `${namespace}/${application}`
  return [
    waitFor(
      [of],
      'PodsUnselected',
      `the policies of the pods of ${of}`,
      `pods of ${of} ${reason}, so that none holds for them: add it to labels of the config, or to the template`,
    ),
  ]
}

/** Tells if policies hold for the pods of the application: they select them, and these are not in the network of their node. */
export const arePodsGuarded = (subject: Subject, state: EffectiveState, seen: SeenPods): boolean =>
  unselectedPods(subject, state, seen).length === 0 && !podsIn(seen).some(isOnHost)

/** Tells if a Service leads to other pods than those of the application, or to none. */
export const leadsElsewhere = (service: Typed<'Service'>, seen: SeenPods): boolean =>
  Object.keys(service.spec?.selector ?? {}).length > 0 &&
  podsIn(seen).some((pod) => !isSelecting(service, podLabels(pod)))

/** Returns the template of the pods. Pods without one count themselves. */
const podsIn = ({ template, pods = [] }: SeenPods): readonly PodLike[] => (template ? [template.pod] : pods)
