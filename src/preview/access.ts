import { type ObservedCluster, observeForQuery } from '../authorization/observe.ts'
import { allPods, podLabels } from '../authorization/pods.ts'
import { OUTSIDE } from '../authorization/query.ts'
import type { Subject } from '../base/subject.ts'
import type { AuthorizationPolicy } from '../istio/authorization-policy.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { NAME_LABEL } from '../kubernetes/services.ts'
import type { Memories } from '../state/memory.ts'
import { type Change, compareRequests, inputOrNothing } from './compare-requests.ts'

/** Requests to a port of a Service, and whether they pass. */
export type Access = Change & { readonly port: number }

/**
 * The access through a Service that there is now, as changes from none: what policies say, and what is open as none says anything. `from` is absent for a
 * client outside the mesh.
 */
export const accessNow = async (
  from: Subject | undefined,
  to: Subject,
  { memories, kubernetes }: { readonly memories: Pick<Memories, 'read'>; readonly kubernetes: Kubernetes },
): Promise<Access[]> => {
  // without a client it is asked what stock Istio does: what nobody has a word about counts as open
  const pair = { ...(from ? { from } : { address: OUTSIDE, autoAllowWaypoint: false }), to, via: 'service' } as const
  const observed = await observeForQuery(memories, kubernetes, { ...pair, port: 1 })
  const cluster = { ...observed, policies: policiesAbout(to, observed) }
  return servicePorts(observed, to).flatMap((port) =>
    compareRequests([undefined, inputOrNothing({ ...pair, port }, cluster)]).changes.map((change) => ({
      ...change,
      port,
    })),
  )
}

const servicePorts = ({ services }: ObservedCluster, { application }: Subject): number[] => {
  const service = services.find(({ metadata }) => metadata.name === application)
  return ((service?.spec?.ports ?? []) as { port: number }[]).map(({ port }) => port)
}

/** Policies that may hold for an application: not those of other Services, or of pods that another name of an application labels. */
const policiesAbout = ({ application }: Subject, { policies = [], to }: ObservedCluster): KubernetesObject[] => {
  const names = to ? allPods(to).flatMap((pod) => podLabels(pod)[NAME_LABEL] ?? []) : []
  return (policies as AuthorizationPolicy[]).filter(({ spec: { targetRefs = [], selector } = {} }) => {
    const isOfOthers =
      targetRefs.length > 0 && targetRefs.every(({ kind, name }) => kind === 'Service' && name !== application)
    const name = selector?.matchLabels?.[NAME_LABEL]
    return !isOfOthers && (name === undefined || names.length === 0 || names.includes(name))
  })
}
