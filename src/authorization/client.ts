import { Refused } from '../base/errors.ts'
import type { AccessRequest, TraceStep } from './evaluate.ts'
import type { ObservedCluster } from './observe.ts'
import { countEnrolled, isGateway, mayHaveSidecar, typicalPod } from './pods.ts'
import type { Query } from './query.ts'

const SIDECAR = 'the client has a sidecar, or may have one, and then an identity that is not known here'

export type Client = {
  readonly from: AccessRequest['from']
  /** Marks the proxy of a Gateway, which is on the mesh by itself and passes a waypoint only on request. */
  readonly isGateway: boolean
  readonly steps: readonly TraceStep[]
  /** Reasons why no answer is certain. */
  readonly doubts: readonly string[]
}

/**
 * Resolves the client and its identity. Kubernetes runs pods as the ServiceAccount `default` where the pod spec names none. Throws
 * Refused, 404, for an unknown workload.
 */
export const resolveClient = ({ from, address }: Query, observed: ObservedCluster): Client => {
  if (from === undefined) return { from: { namespace: '', address }, isGateway: false, steps: [], doubts: [] }
  const { namespace, application } = from
  const pod = observed.from && typicalPod(observed.from)
  if (observed.from === undefined || pod === undefined)
    throw new Refused(
      404,
      `query.from: there is neither a StatefulSet nor a Deployment nor a Gateway ${namespace}/${application}`,
    )
  const labels = observed.fromNamespace?.metadata.labels ?? {}
  const { on, of } = countEnrolled(observed.from, labels)
  const serviceAccount = on > 0 || isGateway(pod) ? (pod.spec?.serviceAccountName ?? 'default') : undefined
  return {
    from: { namespace, application, serviceAccount, address, isGateway: isGateway(pod) },
    isGateway: isGateway(pod),
    doubts: [pod, ...observed.from.running].some((one) => mayHaveSidecar(one, labels)) ? [SIDECAR] : [],
    steps: on > 0 && on < of ? [{ at: 'client', note: `only ${on} of its ${of} pods are on the mesh` }] : [],
  }
}
