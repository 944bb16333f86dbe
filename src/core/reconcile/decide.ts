import type { Condition } from '../../platform/base/condition.ts'
import { changed } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { FeatureInput } from '../feature/feature.ts'
import { withClaims } from '../relations/offers/claims.ts'
import { offersToHold } from '../relations/offers/held-offers.ts'
import type { Peers } from '../relations/peers.ts'
import { type ResolvedRelations, resolveRelations, withCarried, withEffective } from '../relations/resolve-relations.ts'
import { withoutForgotten } from '../relations/told/forget.ts'
import type { State } from '../state/state.ts'
import { limitDatabags, type PublishInput, publicationsIn, publishDatabags, sayingAsIn } from './decide/databags.ts'
import type { Plan } from './decide/operation.ts'
import { NOTHING_FAILED, plan } from './decide/plan.ts'
import { type Decided, type Deciding, type Occasion, readSituation } from './decide/read-situation.ts'
import { withWaits } from './decide/resolved-waits.ts'
import type { Situation } from './decide/situation.ts'
import { dueWrites } from './decide/writes-before-offers.ts'
import { type Observed, seenIn } from './observe/cluster.ts'
import type { Surroundings } from './observe/surroundings.ts'
import type { FoldedObservation, Observation } from './observe.ts'

/** The decision of an attempt: the next memory, and the planned writes. */
export type Decision = Decided & {
  /** All pods are listed, including those without a controller. */
  readonly isWhole: boolean
  readonly situation: Situation
  readonly plan: Plan
  /** There is something to write, or another step was writing. */
  readonly isWriting: boolean
  /** Relations whose new offer rests on what the plan writes, so that it cannot be published yet. */
  readonly heldOffers: readonly string[]
  /** The data that do not fit into the memory, a condition each. */
  readonly noRoom: readonly Condition[]
  /** The units that the published data were computed from. */
  readonly units: State['units']
  /** Another writer was faster in an earlier attempt of this step. */
  readonly wasOvertaken: boolean
}

/**
 * Decides on the next memory and the plan, from the folded state and the cluster. Reads the objects that the plan needs in addition. A step carries the
 * decision out; the status of an application tells of it.
 */
export const decide = async (
  context: Deciding,
  {
    memory,
    found: { peers },
    now,
  }: Pick<Observation, 'memory' | 'now'> & { readonly found: Pick<Surroundings, 'peers'> },
  { state, resolved, observed }: FoldedObservation,
  occasion: Occasion,
): Promise<Decision> => {
  const { subject, features, clock, environment, recall } = context
  const { isWhole, isResync = false, wasOvertaken = false } = occasion
  const input = { subject, resolved, environment, seen: seenIn(observed) }
  await clock.yieldTurn()
  const publishable = recall('published', (given: PublishInput) => publishDatabags(features, given), {
    ...{ subject, resolved: withCarried(resolved), state: features.plan(state, resolved, now) },
    content: recall('publications', (given: FeatureInput) => publicationsIn(features, given), input),
  })
  const { state: published, noRoom } = limitDatabags(memory, state, publishable)
  const said = isResync
    ? withoutForgotten(subject, published, peers, now, unwantedKinds(features, published, observed))
    : published
  const again = resolvedAgain(subject, resolved, state, said, peers)
  const awaited = withWaits(features.mesh, subject, said, again, peers, observed)
  const about = { memory, resolved: awaited, peers, observed, isWhole }
  const situation = await readSituation(context, { ...about, next: said }, occasion)
  // each of these takes tens of milliseconds for large states, so other work has a turn in between
  await clock.yieldTurn()
  const planned = recall('plan', plan, { situation, failed: NOTHING_FAILED })
  const due = dueWrites(features.mesh, planned)
  const isWriting = memory.state.writeToken !== undefined || due.isAny
  const heldOffers = offersToHold(features.mesh, subject, state, said, awaited, due).filter((key) =>
    isNews(state, said, key),
  )
  const offered = sayingAsIn(said, state, heldOffers)
  return {
    ...{ ...about, situation, plan: planned, isWriting, noRoom, heldOffers },
    next: isWriting ? withClaims(offered, awaited, isJoining(features.mesh.enrolment, situation)) : offered,
    units: state.units,
    wasOvertaken,
  }
}

/** Tells if the workload is to join the mesh, and is not known to be on it: another manager may have held its label. */
const isJoining = ({ key }: Features['mesh']['enrolment'], { desired, heldLabels }: Situation): boolean =>
  Object.hasOwn(desired.labels.labels, key) && !Object.hasOwn(heldLabels, key)

/** Resolves the relations once more, if what this side publishes has changed: its own policies follow from that. */
const resolvedAgain = (
  subject: Subject,
  resolved: ResolvedRelations,
  before: State,
  said: State,
  peers: Peers,
): ResolvedRelations => {
  if (!Object.keys(said.relations).some((key) => isNews(before, said, key))) return resolved
  const again = resolveRelations(subject, said, peers)
  return withEffective(again, changed(again.state, { lost: resolved.state.lost }))
}

/** Lists the kinds of objects that exist, or may exist, and that the config does not want. */
const unwantedKinds = (features: Features, state: State, { owned: { kinds } }: Observed): string[] => {
  const wanted: readonly string[] = features.kinds(state)
  return kinds.flatMap(({ kind, live = [], problem }) =>
    !wanted.includes(kind) && (live.length > 0 || problem !== undefined) ? [kind] : [],
  )
}

/** Tells if a relation's data change. */
const isNews = (before: State, said: State, key: string): boolean =>
  before.relations[key]?.published?.digest !== said.relations[key]?.published?.digest
