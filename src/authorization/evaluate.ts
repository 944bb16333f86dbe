import { isDryRun } from '../istio/dry-run.ts'
import { requestersOf } from '../istio/requested-by.ts'
import { enforce, type Verdict } from './evaluate/enforce.ts'
import { nameOf, type Point, type Step } from './evaluate/look.ts'
import { routeOf } from './evaluate/route.ts'
import { reasonOf, sentenceOf } from './evaluate/sentence.ts'
import type { AccessRequest, World } from './evaluate/world.ts'

export type { Step } from './evaluate/look.ts'
export type { PeerAuthentication } from './evaluate/peer-authentication.ts'
export type { AccessRequest, ServiceInWorld, Waypoint, WorkloadInWorld, World } from './evaluate/world.ts'

/** Whether a request would pass, and why. All of it is JSON. */
export type Decision = Ruling & {
  readonly sentence: string
  readonly steps: readonly Step[]
  /** What would be, were the policies enforced that only run dry; absent where that changes nothing. */
  readonly enforced?: Ruling
}

type Ruling = {
  /** False also where it is undecided: what is not known is not promised. */
  readonly allowed: boolean
  /** False where it cannot be known offline: an external authorizer has the last word, a policy cannot be read, or it depends on what is not asked. */
  readonly decided: boolean
  /** Where it is decided; at the destination when no proxy guards it. */
  readonly at: Point['at'] | 'destination'
  /** `namespace/name` of the policy that decides; of several ALLOW policies that do not match, the one that came nearest to it. */
  readonly policy?: string
  /** Which relations asked for that policy. */
  readonly relations: readonly string[]
}

/** Which relations asked for a policy, for a person. @default as the policy says */
export type Requesters = (policy: Parameters<typeof requestersOf>[0]) => readonly string[]

type Passed = { readonly point: Point; readonly verdict: Verdict }

/**
 * Whether `request` would pass in `world`, decided as Istio's ambient mode does: by the waypoint, which sees the client and HTTP, by the
 * proxy of a Gateway, and by the ztunnel of the pod, which sees connections. What is not known is allowed and denied by nobody.
 */
export const decide = (request: AccessRequest, world: World, requesters: Requesters = requestersOf): Decision => {
  const { points, steps, bypassed } = routeOf(request, world)
  const passed = pass(points)
  const deciding = findDeciding(passed)
  const ruling = rulingOf(deciding, requesters)
  const enforced = world.policies.some(isDryRun) ? enforcedRuling(request, world, requesters) : undefined
  const isChanged = enforced !== undefined && enforced.ruling.allowed !== ruling.allowed
  const isBehindWaypoint = points[0]?.at === 'waypoint'
  return {
    ...ruling,
    sentence: sentenceOf(request, {
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
const pass = (points: readonly Point[]): Passed[] => {
  const verdicts = points.map((point) => ({ point, verdict: enforce(point) }))
  const end = verdicts.findIndex(({ verdict }) => verdict.outcome === 'denied')
  return end === -1 ? verdicts : verdicts.slice(0, end + 1)
}

/** Of two that allow, the first knows the client, the second perhaps only the waypoint. */
const findDeciding = (passed: readonly Passed[]): Passed | undefined =>
  ['denied', 'undecided', 'allowed'].flatMap((outcome) =>
    passed.filter(({ verdict }) => verdict.outcome === outcome),
  )[0]

const rulingOf = (deciding: Passed | undefined, requesters: Requesters): Ruling => {
  const { outcome, policy } = deciding?.verdict ?? { outcome: 'allowed' }
  return {
    allowed: outcome === 'allowed',
    decided: outcome !== 'undecided',
    at: deciding?.point.at ?? 'destination',
    ...(policy && { policy: nameOf(policy) }),
    relations: policy ? requesters(policy) : [],
  }
}

const enforcedRuling = (
  request: AccessRequest,
  world: World,
  requesters: Requesters,
): { ruling: Ruling; reason: string | undefined } => {
  const { points } = routeOf(request, { ...world, enforcesDryRuns: true })
  const deciding = findDeciding(pass(points))
  const isBehindWaypoint = points[0]?.at === 'waypoint'
  return {
    ruling: rulingOf(deciding, requesters),
    reason: deciding && reasonOf({ ...deciding, isBehindWaypoint }, requesters),
  }
}
