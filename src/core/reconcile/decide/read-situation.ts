import type { Clock } from '../../../platform/base/clock.ts'
import { defined } from '../../../platform/base/own-value.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { FeatureInput } from '../../feature/feature.ts'
import { keptFor, labelsAwaited, lateConsumers } from '../../relations/offers/awaited-peers.ts'
import type { Peers } from '../../relations/peers.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import type { Memory } from '../../state/memory.ts'
import type { State } from '../../state/state.ts'
import type { Context } from '../context.ts'
import { meshConfigs, toBeTaken } from '../observe/accepted-objects.ts'
import { findNamesakes, type Observed, seenIn } from '../observe/cluster.ts'
import { forgottenConsumers } from '../observe/forgotten-consumers.ts'
import { ledConsumers } from '../observe/led-consumers.ts'
import { waitForPodsOnMesh } from '../observe/pods-on-mesh.ts'
import { desiredState } from './desired-state.ts'
import type { Planned, Situation } from './situation.ts'

/** The application, and the dependencies of a decision. */
export type Deciding = Pick<Context, 'subject' | 'features' | 'kubernetes' | 'environment' | 'recall'> & {
  readonly clock: Pick<Clock, 'yieldTurn'>
}

/** The reason for a decision: an attempt of a step, or a question. */
export type Occasion = {
  /** All pods are listed, including those without a controller. */
  readonly isWhole: boolean
  /** Relations that are over for long are forgotten. */
  readonly isResync?: boolean
  /** The write token of another step, whose late writes are to be fenced. */
  readonly fence?: string | undefined
  /** Another writer was faster in an earlier attempt of this step. */
  readonly wasOvertaken?: boolean
  /** Objects of other owners that show if the mesh reports acceptance. */
  readonly witnesses?: readonly KubernetesObject[]
}

/** The memory of an application before and after a decision, and what the decision was made of. */
export type Decided = {
  /** The memory as it was read. */
  readonly memory: Memory
  readonly next: State
  readonly resolved: ResolvedRelations
  readonly peers: Peers
  readonly observed: Observed
}

/** Reads the objects that a plan needs besides the observed cluster, and joins all inputs of the plan. */
export const readSituation = async (
  { subject, features, kubernetes, clock, environment, recall }: Deciding,
  { memory, next, resolved, peers, observed }: Decided,
  { isWhole, fence, witnesses = [] }: Occasion,
): Promise<Situation> => {
  const input = { subject, resolved, environment, seen: seenIn(observed) }
  await clock.yieldTurn()
  const desired = recall('desired state', (given: FeatureInput) => desiredState(features, given), input)
  const taken = toBeTaken(observed, desired.objects)
  const configs = isWhole ? await meshConfigs(features.mesh, kubernetes, subject.namespace, taken) : []
  return {
    features,
    subject,
    state: plannedOf(next),
    unknown: resolved.unknown,
    heldLabels: memory.labels,
    observed,
    namesakes: await findNamesakes(kubernetes, observed.owned, desired),
    desired,
    leftovers: features.leftovers(subject, resolved),
    unenforced: features.mesh.unenforced(taken.objects, [...taken.witnesses, ...configs, ...witnesses]),
    keptFor: [
      ...keptFor(subject, next, resolved, peers),
      ...(await ledConsumers(features.mesh, kubernetes, subject, resolved, peers, observed)),
    ],
    waitForPods: await waitForPodsOnMesh(features.mesh, kubernetes, subject, {
      ...observed,
      memory,
      desired: desired.labels,
    }),
    isClaimAwaited: lateConsumers(resolved.state).length > 0,
    labelsAwaited: [
      ...labelsAwaited(subject, next, resolved, peers),
      ...(await forgottenConsumers(features.mesh, kubernetes, subject, next, observed)),
    ],
    fence,
  }
}

const plannedOf = ({ config, libraryLabels, pending, slowed }: State): Planned =>
  defined({ config, libraryLabels, pending, slowed })
