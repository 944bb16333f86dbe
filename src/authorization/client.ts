import { Refused } from '../base/errors.ts'
import type { AccessRequest, TraceStep } from './evaluate.ts'
import type { ObservedCluster } from './observe.ts'
import { countEnrolled, isGateway, typicalPod } from './pods.ts'
import type { Query } from './query.ts'

export type Client = {
  readonly from: AccessRequest['from']
  /** Marks the proxy of a Gateway, which is on the mesh by itself and passes a waypoint only on request. */
  readonly isGateway: boolean
  readonly steps: readonly TraceStep[]
}

/**
 * Resolves the client and its identity. Kubernetes runs pods as the ServiceAccount `default` where the pod spec names none. Throws
 * Refused, 404, for an unknown workload.
 */
export const resolveClient = ({ from, address }: Query, observed: ObservedCluster): Client => {
  if (from === undefined) return { from: { namespace: '', address }, isGateway: false, steps: [] }
  const { namespace, application } = from
  const pod = observed.from && typicalPod(observed.from)
  if (observed.from === undefined || pod === undefined)
    throw new Refused(
      404,
      `query.from: there is neither a StatefulSet nor a Deployment nor a Gateway ${namespace}/${application}`,
    )
  const { on, of } = countEnrolled(observed.from, observed.fromNamespace?.metadata.labels ?? {})
  const serviceAccount = on > 0 || isGateway(pod) ? (pod.spec?.serviceAccountName ?? 'default') : undefined
  return {
    from: { namespace, application, serviceAccount, address, isGateway: isGateway(pod) },
    isGateway: isGateway(pod),
    steps: on > 0 && on < of ? [{ at: 'client', note: `only ${on} of its ${of} pods are on the mesh` }] : [],
  }
}
