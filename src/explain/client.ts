import { Refused } from '../errors.ts'
import type { AccessRequest, Step } from '../policies/decide.ts'
import type { Observed } from './observe.ts'
import { captured, isGateway, typicalPod } from './pods.ts'
import type { Question } from './question.ts'

export type Client = {
  readonly from: AccessRequest['from']
  /** It is the proxy of a Gateway, on the mesh by itself, and passes a waypoint only where that is asked for. */
  readonly isGateway: boolean
  readonly steps: readonly Step[]
}

/**
 * Who sends. Its identity is the ServiceAccount that the pod spec names, else the application's name: that is how Juju calls it, and what
 * policies name. Throws Refused, 404, where there is no such workload.
 */
export const clientOf = ({ from: { namespace, application } }: Question, observed: Observed): Client => {
  const pod = observed.from && typicalPod(observed.from)
  if (observed.from === undefined || pod === undefined)
    throw new Refused(404, `query.from: there is neither a StatefulSet nor a Deployment ${namespace}/${application}`)
  const { on, of } = captured(observed.from, observed.fromNamespace?.metadata.labels ?? {})
  const serviceAccount = on > 0 || isGateway(pod) ? (pod.spec?.serviceAccountName ?? application) : undefined
  return {
    from: { namespace, application, serviceAccount },
    isGateway: isGateway(pod),
    steps: on > 0 && on < of ? [{ at: 'client', note: `only ${on} of its ${of} pods are on the mesh` }] : [],
  }
}
