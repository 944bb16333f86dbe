import { isDryRun } from '../istio/dry-run.ts'
import { parseRequesters } from '../istio/requested-by.ts'
import type { AccessRequest, ClusterSnapshot } from './evaluate/cluster-snapshot.ts'
import { type EnforcementResult, enforce } from './evaluate/enforce.ts'
import { type EnforcementPoint, policyName, type TraceStep } from './evaluate/enforcement-point.ts'
import { findProxyChain } from './evaluate/proxy-chain.ts'
import { explain, writeSentence } from './evaluate/sentence.ts'

export type {
  AccessRequest,
  ClusterSnapshot,
  ServiceSnapshot,
  Waypoint,
  WorkloadSnapshot,
} from './evaluate/cluster-snapshot.ts'
export type { TraceStep } from './evaluate/enforcement-point.ts'
export type { PeerAuthentication } from './evaluate/peer-authentication.ts'

/** Whether a request would pass, and why. All of it is JSON. */
export type Decision = Ruling & {
  readonly sentence: string
  readonly steps: readonly TraceStep[]
  /** What would be, were the policies enforced that only run dry; absent where that changes nothing. */
  readonly enforced?: Ruling
}

type Ruling = {
  /** False also where it is undecided: what is not known is not promised. */
  readonly allowed: boolean
  /** False where it cannot be known offline: an external authorizer has the last word, a policy cannot be read, or it depends on what is not asked. */
  readonly decided: boolean
  /** Where it is decided; at the destination when no proxy guards it. */
  readonly at: EnforcementPoint['at'] | 'destination'
  /** `namespace/name` of the policy that decides; of several ALLOW policies that do not match, the one that came nearest to it. */
  readonly policy?: string
  /** Which relations asked for that policy. */
  readonly relations: readonly string[]
}

/** Which relations asked for a policy, for a person. @default as the policy says */
export type Requesters = (policy: Parameters<typeof parseRequesters>[0]) => readonly string[]

type PointResult = { readonly point: EnforcementPoint; readonly verdict: EnforcementResult }

/**
 * Whether `request` would pass in `world`, decided as Istio's ambient mode does: by the waypoint, which sees the client and HTTP, by the
 * proxy of a Gateway, and by the ztunnel of the pod, which sees connections. What is not known is allowed and denied by nobody.
 */
export const evaluate = (
  request: AccessRequest,
  world: ClusterSnapshot,
  requesters: Requesters = parseRequesters,
): Decision => {
  const { points, steps, bypassed } = findProxyChain(request, world)
  const passed = enforceAll(points)
  const deciding = findDeciding(passed)
  const ruling = buildRuling(deciding, requesters)
  const enforced = world.policies.some(isDryRun) ? enforcedRuling(request, world, requesters) : undefined
  const isChanged = enforced !== undefined && enforced.ruling.allowed !== ruling.allowed
  const isBehindWaypoint = points[0]?.at === 'waypoint'
  return {
    ...ruling,
    sentence: writeSentence(request, {
      decided: deciding && { ...deciding, isBehindWaypoint },
      bypassed,
      enforced: isChanged ? enforced.reason : undefined,
      requesters,
    }),
    steps: [...steps, ...passed.flatMap(({ verdict }) => verdict.steps)],
    ...(isChanged && { enforced: enforced.ruling }),
  }
}

/** A request goes no further than the first point that refuses it for certain. */
const enforceAll = (points: readonly EnforcementPoint[]): PointResult[] => {
  const verdicts = points.map((point) => ({ point, verdict: enforce(point) }))
  const end = verdicts.findIndex(({ verdict }) => verdict.outcome === 'denied')
  return end === -1 ? verdicts : verdicts.slice(0, end + 1)
}

/** Of two that allow, the first knows the client, the second perhaps only the waypoint. */
const findDeciding = (passed: readonly PointResult[]): PointResult | undefined =>
  ['denied', 'undecided', 'allowed'].flatMap((outcome) =>
    passed.filter(({ verdict }) => verdict.outcome === outcome),
  )[0]

const buildRuling = (deciding: PointResult | undefined, requesters: Requesters): Ruling => {
  const { outcome, policy } = deciding?.verdict ?? { outcome: 'allowed' }
  return {
    allowed: outcome === 'allowed',
    decided: outcome !== 'undecided',
    at: deciding?.point.at ?? 'destination',
    ...(policy && { policy: policyName(policy) }),
    relations: policy ? requesters(policy) : [],
  }
}

const enforcedRuling = (
  request: AccessRequest,
  world: ClusterSnapshot,
  requesters: Requesters,
): { ruling: Ruling; reason: string | undefined } => {
  const { points } = findProxyChain(request, { ...world, enforcesDryRuns: true })
  const deciding = findDeciding(enforceAll(points))
  const isBehindWaypoint = points[0]?.at === 'waypoint'
  return {
    ruling: buildRuling(deciding, requesters),
    reason: deciding && explain({ ...deciding, isBehindWaypoint }, requesters),
  }
}
