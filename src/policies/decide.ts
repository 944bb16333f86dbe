import { enforce, type Verdict } from './decide/enforce.ts'
import { nameOf, type Point, type Step } from './decide/look.ts'
import { routeOf } from './decide/route.ts'
import { sentenceOf } from './decide/sentence.ts'
import type { AccessRequest, World } from './decide/world.ts'
import { requestersOf } from './requested-by.ts'

export type { Step } from './decide/look.ts'
export type { AccessRequest, ServiceInWorld, Waypoint, WorkloadInWorld, World } from './decide/world.ts'

/** Whether a request would pass, and why. All of it is JSON. */
export type Decision = {
  /** False also where it is undecided: what is not known is not promised. */
  readonly allowed: boolean
  /** False where it cannot be known offline, because an external authorizer has the last word, or a policy cannot be read. */
  readonly decided: boolean
  /** Where it is decided; at the destination when no proxy guards it. */
  readonly at: Point['at'] | 'destination'
  /** `namespace/name` of the policy that decides; of several ALLOW policies that do not match, the one that came nearest to it. */
  readonly policy?: string
  /** Which relations asked for that policy. */
  readonly relations: readonly string[]
  readonly sentence: string
  readonly steps: readonly Step[]
}

type Passed = { readonly point: Point; readonly verdict: Verdict }

/**
 * Whether `request` would pass in `world`, decided as Istio's ambient mode does: by the waypoint, which sees the client and HTTP, and by
 * the ztunnel of the pod, which sees connections. What a policy asks for and cannot be known offline counts against the request.
 */
export const decide = (request: AccessRequest, world: World): Decision => {
  const { points, steps, bypassed } = routeOf(request, world)
  const passed = pass(points)
  const deciding = passed.find(({ verdict }) => verdict.outcome !== 'allowed') ?? passed[0]
  const { outcome, policy } = deciding?.verdict ?? { outcome: 'allowed' }
  const isBehindWaypoint = points[0]?.at === 'waypoint'
  return {
    allowed: outcome === 'allowed',
    decided: outcome !== 'undecided',
    at: deciding?.point.at ?? 'destination',
    ...(policy && { policy: nameOf(policy) }),
    relations: policy ? requestersOf(policy) : [],
    sentence: sentenceOf(request, deciding && { ...deciding, isBehindWaypoint }, bypassed),
    steps: [...steps, ...passed.flatMap(({ verdict }) => verdict.steps)],
  }
}

/** A request goes no further than the first point that refuses it. Of two the first knows the client, the second only the waypoint. */
const pass = (points: readonly Point[]): Passed[] => {
  const verdicts = points.map((point) => ({ point, verdict: enforce(point) }))
  const end = verdicts.findIndex(({ verdict }) => verdict.outcome !== 'allowed')
  return end === -1 ? verdicts : verdicts.slice(0, end + 1)
}
