import { parseRequesters } from '../../core/policies/requested-by.ts'
import { isDryRun } from '../../mesh/istio/dry-run.ts'
import { joinOr } from '../../platform/base/printed.ts'
import type { AccessRequest, ClusterSnapshot } from './evaluate/cluster-snapshot.ts'
import { enforce } from './evaluate/enforce.ts'
import { type EnforcementPoint, policyName, type TraceStep } from './evaluate/enforcement-point.ts'
import { findProxyChain, isShared } from './evaluate/proxy-chain.ts'
import { type Decided, explain, writeDoubt, writeSentence } from './evaluate/sentence.ts'

export type {
  AccessRequest,
  Canary,
  ClusterSnapshot,
  ServiceSnapshot,
  Waypoint,
  WorkloadSnapshot,
} from './evaluate/cluster-snapshot.ts'
export type { TraceStep } from './evaluate/enforcement-point.ts'
export type { PeerAuthentication } from './evaluate/peer-authentication.ts'

/** The answer to an access query, as JSON. */
export type Decision = Ruling & {
  readonly sentence: string
  readonly steps: readonly TraceStep[]
  /** The result if dry-run policies were enforced; absent where it is the same. */
  readonly enforced?: Ruling
}

type Ruling = {
  /** False also where it is undecided: an unknown result is no permission. */
  readonly allowed: boolean
  /** False where the result is unknown offline: an external authorizer decides, a policy is unreadable, or an attribute is missing. */
  readonly decided: boolean
  /** The enforcement point that decides, or `destination` if no proxy guards that. */
  readonly at: EnforcementPoint['at'] | 'destination'
  /** The deciding policy as `namespace/name`. If no ALLOW policy matches, it is the nearest miss. */
  readonly policy?: string
  /** Relations that requested the policy. */
  readonly relations: readonly string[]
}

/** Names the relations that requested a policy. @default as the policy says */
export type Requesters = (policy: Parameters<typeof parseRequesters>[0]) => readonly string[]

/**
 * Evaluates a request. The result is undecided if an unknown could change it: the root namespace, a sidecar, the pod that takes part, or the waypoint that
 * a connection takes.
 */
export const evaluate = (
  request: AccessRequest,
  snapshot: ClusterSnapshot,
  requesters: Requesters = parseRequesters,
): Decision => {
  const decision = decide(request, snapshot, requesters)
  const isOther: IsOther = (...one) => isOtherwise(decide(...one, requesters), decision)
  const isRefusedBefore = decision.at === 'waypoint' && decision.decided && !decision.allowed
  const doubt =
    snapshot.doubts?.[0] ??
    (isRefusedBefore ? undefined : snapshot.unknownPods) ??
    podsDoubt(request, snapshot, isOther) ??
    canaryDoubt(request, snapshot, isOther) ??
    meshDoubt(request, snapshot, isOther)
  if (doubt === undefined || !decision.decided) return decision
  const { enforced: _, policy: _p, ...rest } = decision
  return { ...rest, allowed: false, decided: false, relations: [], sentence: writeDoubt(request, doubt) }
}

/** Tells if this request gets another answer than the given one. */
type IsOther = (request: AccessRequest, snapshot: ClusterSnapshot) => boolean

/** Returns the reason why the answer depends on the pods that take part, if they differ. */
const podsDoubt = (request: AccessRequest, snapshot: ClusterSnapshot, isOther: IsOther): string | undefined => {
  const { client, destination } = snapshot.differing ?? {}
  const [, ...others] = eachPods(request, snapshot)
  return others.some((one) => isOther(...one))
    ? [client && `of the client ${client}`, destination && `of the destination ${destination}`]
        .filter((one) => one !== undefined)
        .join(', and ')
    : undefined
}

/** Returns the reason why the answer depends on the waypoint that a connection takes, if two share the connections. */
const canaryDoubt = (request: AccessRequest, snapshot: ClusterSnapshot, isOther: IsOther): string | undefined => {
  const { waypoint, canary } = sharedService(request, snapshot) ?? {}
  const isShared = waypoint && canary && eachPods(request, byCanaries(snapshot)).some((one) => isOther(...one))
  return isShared
    ? `of the connections the waypoint ${waypoint.namespace}/${waypoint.name} takes ${100 - canary.weight} %, and its canary ${canary.namespace}/${canary.name} ${canary.weight} %, and they decide differently`
    : undefined
}

const byCanaries = (snapshot: ClusterSnapshot): ClusterSnapshot => ({ ...snapshot, isByCanaries: true })

/** The requested Service, if two waypoints share its connections. */
const sharedService = ({ to }: AccessRequest, snapshot: ClusterSnapshot) =>
  snapshot.services.find((one) => one.namespace === to.namespace && one.name === to.service && isShared(one, snapshot))

/** Lists the request and the snapshot for each pair of kinds of pods that may take part. */
export const eachPods = (request: AccessRequest, snapshot: ClusterSnapshot) => [
  [request, snapshot] as const,
  ...(snapshot.others ?? []).map(
    ({ workloads, ...ends }) =>
      [
        { ...request, ...ends },
        { ...snapshot, workloads },
      ] as const,
  ),
]

const isOtherwise = (one: Decision, { allowed, decided }: Decision): boolean =>
  one.allowed !== allowed || one.decided !== decided

/** Returns the reason why the answer depends on Istio's root namespace, or on its trust domain, if that is unknown. */
const meshDoubt = (request: AccessRequest, snapshot: ClusterSnapshot, isOther: IsOther): string | undefined => {
  const { rootNamespace, otherRoots = [], trustDomain, otherTrustDomains = [], unknownMesh } = snapshot
  const isDecisive = (otherwise: ClusterSnapshot) =>
    [otherwise, ...(sharedService(request, snapshot) ? [byCanaries(otherwise)] : [])].some((one) =>
      eachPods(request, one).some((pair) => isOther(...pair)),
    )
  const because = unknownMesh === undefined ? '' : `, because Istio's own config is not: ${unknownMesh}`
  const byRoot = otherRoots.map((other) => ({ ...snapshot, rootNamespace: other }))
  if (byRoot.some(isDecisive))
    return `Istio's root namespace is not known: it may be ${few([rootNamespace, ...otherRoots])}${because} (rootNamespace= sets it)`
  const byDomain = [snapshot, ...byRoot].flatMap((one) =>
    otherTrustDomains.map((other) => ({ ...one, trustDomain: other, trustDomainAliases: 'unknown' as const })),
  )
  return byDomain.some(isDecisive)
    ? `Istio's trust domain is not known: it may be another than ${trustDomain}${because} (trustDomain= sets it)`
    : undefined
}

const few = (names: readonly string[]): string =>
  joinOr(names.length > 3 ? [...names.slice(0, 3), 'another one'] : names)

/**
 * Decides as Istio's ambient mode does. A waypoint sees the client and HTTP. A Gateway's proxy sees HTTP. The pod's ztunnel sees connections only. An
 * unknown attribute neither allows nor denies.
 */
const decide = (request: AccessRequest, snapshot: ClusterSnapshot, requesters: Requesters): Decision => {
  const { steps, decided, bypassed } = enforceAll(request, snapshot)
  const ruling = buildRuling(decided, requesters)
  const dryRun = snapshot.policies.some(isDryRun)
    ? enforceAll(request, { ...snapshot, enforcesDryRuns: true }).decided
    : decided
  const enforced = dryRun === decided ? ruling : buildRuling(dryRun, requesters)
  const isChanged = enforced.allowed !== ruling.allowed
  return {
    ...ruling,
    sentence: writeSentence(request, {
      ...{ decided, bypassed, requesters },
      enforced: isChanged && dryRun ? explain(dryRun, requesters) : undefined,
    }),
    steps,
    ...(isChanged && { enforced }),
  }
}

/** Enforces the points on the way in order, up to the first that certainly refuses the request. */
const enforceAll = (request: AccessRequest, snapshot: ClusterSnapshot) => {
  const { points, steps, bypassed } = findProxyChain(request, snapshot)
  const isBehindWaypoint = points[0]?.at === 'waypoint'
  const verdicts = points.map((point): Decided => ({ point, verdict: enforce(point), isBehindWaypoint }))
  const end = verdicts.findIndex(({ verdict }) => verdict.outcome === 'denied')
  const passed = end === -1 ? verdicts : verdicts.slice(0, end + 1)
  return {
    decided: findDeciding(passed),
    steps: [...steps, ...passed.flatMap(({ verdict }) => verdict.steps)],
    bypassed,
  }
}

/**
 * Returns the first result that denies, else an undecided one, else one that allows. Of two that allow, the first is of the point that knows the client:
 * the second may see only the waypoint.
 */
const findDeciding = (passed: readonly Decided[]): Decided | undefined =>
  ['denied', 'undecided', 'allowed'].flatMap((outcome) =>
    passed.filter(({ verdict }) => verdict.outcome === outcome),
  )[0]

const buildRuling = (decided: Decided | undefined, requesters: Requesters): Ruling => {
  const { outcome, policy } = decided?.verdict ?? { outcome: 'allowed' }
  return {
    allowed: outcome === 'allowed',
    decided: outcome !== 'undecided',
    at: decided?.point.at ?? 'destination',
    ...(policy && { policy: policyName(policy) }),
    relations: policy ? requesters(policy) : [],
  }
}
