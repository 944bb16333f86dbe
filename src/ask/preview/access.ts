import type { Memories } from '../../core/state/memory.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type ObservedCluster, observeForQuery } from '../authorization/observe.ts'
import { tcpPorts } from '../authorization/protocol.ts'
import { OUTSIDE } from '../authorization/query.ts'
import { type Change, compareRequests, inputOrNothing } from './compare-requests.ts'

/** Requests to a port of a Service, and their result. */
export type Access = Change & { readonly port: number }

/**
 * Lists the current access through a Service as changes from no access. It includes access that is open because no policy applies. `from` is absent for a
 * client outside the mesh.
 */
export const accessNow = async (
  from: Subject | undefined,
  to: Subject,
  { memories, kubernetes }: { readonly memories: Pick<Memories, 'read'>; readonly kubernetes: Kubernetes },
): Promise<Access[]> => {
  // without a client the question is about stock Istio: requests that no policy covers count as allowed
  const pair = { ...(from ? { from } : { address: OUTSIDE, autoAllowWaypoint: false }), to, via: 'service' } as const
  const observed = await observeForQuery(memories, kubernetes, { ...pair, port: 1 })
  return servicePorts(observed, to).flatMap((port) =>
    compareRequests([undefined, inputOrNothing({ ...pair, port }, observed)]).changes.map((change) => ({
      ...change,
      port,
    })),
  )
}

const servicePorts = ({ services }: ObservedCluster, { application }: Subject): number[] => {
  const service = services.find(({ metadata }) => metadata.name === application)
  return service ? tcpPorts(service).map(({ port }) => port) : []
}
