import { ownValue } from '../../platform/base/own-value.ts'
import { type PodLike, podLabels, serviceAccountName } from '../../platform/kubernetes/pod-like.ts'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'

/**
 * The policies of an application know its pods by two names: they select pods by a label with the name of the application, and let in pods that run as the
 * ServiceAccount of that name. Both reasons continue a sentence that begins with `pods`.
 */

/** Tells why the policies of an application do not select a pod. Undefined if they do. */
export const whyNotSelected = (application: string, pod: PodLike): string | undefined =>
  ownValue(podLabels(pod), NAME_LABEL) === application
    ? undefined
    : `do not have the label ${NAME_LABEL}: ${application}, by which policies select them`

/** Tells why a grant to an application does not let in a pod. `account` is the ServiceAccount that grants name. Undefined if it does. */
export const whyNotGranted = (application: string, pod: PodLike, account = application): string | undefined => {
  const own = serviceAccountName(pod)
  return own === account
    ? undefined
    : `run as the ServiceAccount ${own}, and what is granted to ${application} lets in pods of the ServiceAccount ${account} alone: set serviceAccountName: ${account} in their template`
}
