import type { Memories } from '../../core/state/memory.ts'
import { isDryRun } from '../../mesh/istio/dry-run.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { findProxyChain } from '../authorization/evaluate/proxy-chain.ts'
import { eachPods } from '../authorization/evaluate.ts'
import { buildInput, type EvaluationInput } from '../authorization/evaluation-input.ts'
import { type ObservedCluster, observeForQuery } from '../authorization/observe.ts'
import { tcpPorts } from '../authorization/protocol.ts'
import { OUTSIDE } from '../authorization/query.ts'
import { type Change, compareRequests, ifThere } from './compare-requests.ts'

/** Requests to a port of a Service, and their result. */
export type Access = Change & { readonly port: number }

/**
 * Lists the current access through a Service as changes from no access. It includes access that is open because no policy applies. `from` is absent for a
 * client outside the mesh.
 */
export const accessNow = async (from: Subject | undefined, to: Subject, reading: Reading): Promise<readonly Access[]> =>
  (await accessAndHomes(from, to, reading)).access

/** Lists the access as `accessNow` does, and the namespaces whose policies may decide. */
export const accessAndHomes = async (
  from: Subject | undefined,
  to: Subject,
  reading: Reading,
): Promise<{ readonly access: readonly Access[]; readonly homes: readonly string[] }> => {
  const asked = await inputsFor(from, to, reading)
  return {
    access: asked.flatMap(({ port, input }) =>
      compareRequests([undefined, input]).changes.map((change) => ({ ...change, port })),
    ),
    homes: [...new Set(asked.flatMap(({ input }) => (input ? homesOf(input) : [])))].toSorted(),
  }
}

const homesOf = ({ request: { to }, snapshot }: EvaluationInput): string[] => {
  const { rootNamespace, otherRoots = [], services, others = [] } = snapshot
  const workloads = [snapshot, ...others].flatMap((one) => one.workloads)
  const waypoints = [
    ...services.flatMap(({ waypoint, canary }) => [waypoint, canary]),
    ...workloads.map(({ waypoint }) => waypoint),
  ]
  return [
    ...[to.namespace, rootNamespace, ...otherRoots],
    ...[...workloads, ...waypoints.filter((one) => one !== undefined)].map(({ namespace }) => namespace),
  ]
}

/**
 * The result for a client if dry runs were enforced: `partly refused` if some requests would still pass, `no dry run` if none is about them, as no
 * waypoint sees a client outside the mesh.
 */
export type IfEnforced = 'passes' | 'partly refused' | 'refused' | 'no dry run' | 'unknown'

/** Tells what dry runs at the way through a Service would refuse of what passes now. The clients are those of `accessNow`. */
export const accessIfEnforced = async (
  from: Subject | undefined,
  to: Subject,
  reading: Reading,
): Promise<IfEnforced> => {
  const inputs = (await inputsFor(from, to, reading)).map(({ input }) => input)
  const sides = inputs.map((input) => [input, input && enforcing(input)] as const)
  const lost = sides.flatMap((pair) => compareRequests(pair).changes.filter(({ after }) => after !== 'allowed'))
  const known = inputs.filter((input) => input !== undefined)
  if (lost.length === 0) return known.length === 0 ? 'unknown' : known.some(meetsDryRuns) ? 'passes' : 'no dry run'
  if (lost.some(({ before, after }) => before === 'undecided' || after === 'undecided')) return 'unknown'
  const isSome = sides.some(([, after]) => compareRequests([undefined, after]).changes.some(isAllowed))
  return isSome ? 'partly refused' : 'refused'
}

type Reading = { readonly memories: Pick<Memories, 'read'>; readonly kubernetes: Kubernetes }

const isAllowed = ({ after }: Change): boolean => after === 'allowed'

const meetsDryRuns = ({ request, snapshot }: EvaluationInput): boolean =>
  eachPods(request, snapshot)
    .flatMap((pair) => findProxyChain(...pair).points)
    .some(({ at, policies }) => at !== 'ztunnel' && policies.some(isDryRun))

const enforcing = ({ snapshot, ...input }: EvaluationInput): EvaluationInput => ({
  ...input,
  snapshot: { ...snapshot, enforcesDryRuns: true },
})

/** Builds the question about each port of a Service. An input is undefined if a side does not exist. */
const inputsFor = async (from: Subject | undefined, to: Subject, { memories, kubernetes }: Reading) => {
  // without a client the question is about stock Istio: requests that no policy covers count as allowed
  const pair = { ...(from ? { from } : { address: OUTSIDE, autoAllowWaypoint: false }), to, via: 'service' } as const
  const observed = await observeForQuery(memories, kubernetes, { ...pair, port: 1 })
  return servicePorts(observed, to).map((port) => ({
    port,
    input: ifThere(() => buildInput({ ...pair, port }, observed)),
  }))
}

const servicePorts = ({ services }: ObservedCluster, { application }: Subject): number[] => {
  const service = services.find(({ metadata }) => metadata.name === application)
  return service ? tcpPorts(service).map(({ port }) => port) : []
}
