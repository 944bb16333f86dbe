import { Refused } from '../../platform/base/errors.ts'
import { serviceAccountName } from '../../platform/kubernetes/pod-like.ts'
import type { AccessRequest, TraceStep } from './evaluate.ts'
import type { ObservedCluster } from './observe.ts'
import { countEnrolled, isGateway, loneProxy, typicalPod } from './pods.ts'
import type { Query } from './query.ts'
import { nothingRuns } from './side.ts'

const PROXIES = {
  sidecar: 'the client has a sidecar, or may have one, and then an identity that is not known here',
  gateway: 'the client is a gateway that no Gateway describes, and has an identity that is not known here',
}

export type Client = {
  readonly from: AccessRequest['from']
  /** Marks the proxy of a Gateway, which is on the mesh by itself and passes a waypoint only on request. */
  readonly isGateway: boolean
  readonly steps: readonly TraceStep[]
  /** States how many of its pods are on the mesh, where only some are. */
  readonly partly?: string | undefined
  /** Reasons why no answer is certain. */
  readonly doubts: readonly string[]
}

/** Resolves the client, and its identity from its pods. Throws Refused, 404, for an unknown workload. */
export const resolveClient = (
  { from, address }: Pick<Query, 'from' | 'address'>,
  observed: Pick<ObservedCluster, 'from' | 'fromNamespace'>,
): Client => {
  if (from === undefined) return { from: { namespace: '', address }, isGateway: false, steps: [], doubts: [] }
  const { namespace, application } = from
  const labels = observed.fromNamespace?.metadata.labels ?? {}
  const pod = observed.from && typicalPod(observed.from, labels)
  if (observed.from === undefined || pod === undefined) throw new Refused(404, `query.from: ${nothingRuns(from)}`)
  const { on, of } = countEnrolled(observed.from, labels)
  const proxy = loneProxy(observed.from, labels)
  const partly = on > 0 && on < of ? `only ${on} of its ${of} pods are on the mesh` : undefined
  const serviceAccount = on > 0 || isGateway(pod) ? serviceAccountName(pod) : undefined
  return {
    from: { namespace, application, serviceAccount, address, isGateway: isGateway(pod) },
    isGateway: isGateway(pod),
    doubts: proxy ? [PROXIES[proxy]] : [],
    steps: partly === undefined ? [] : [{ at: 'client', note: partly }],
    partly,
  }
}
