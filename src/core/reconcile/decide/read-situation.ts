import { defined } from '../../../platform/base/own-value.ts'
import type { FeatureInput } from '../../feature/feature.ts'
import { keptFor, labelsAwaited, lateConsumers } from '../../relations/offers/awaited-peers.ts'
import type { State } from '../../state/state.ts'
import type { Deciding, Decision, Occasion } from '../decide.ts'
import { meshConfigs, toBeTaken } from '../observe/accepted-objects.ts'
import { findNamesakes, seenIn } from '../observe/cluster.ts'
import { forgottenConsumers } from '../observe/forgotten-consumers.ts'
import { ledConsumers } from '../observe/led-consumers.ts'
import { waitForPodsOnMesh } from '../observe/pods-on-mesh.ts'
import { desiredState } from './desired-state.ts'
import type { Planned, Situation } from './situation.ts'

type Input = Pick<Decision, 'memory' | 'next' | 'resolved' | 'peers' | 'observed'>

/** Reads the objects that a plan needs besides the observed cluster, and joins all inputs of the plan. */
export const readSituation = async (
  { subject, features, kubernetes, clock, environment, recall }: Deciding,
  { memory, next, resolved, peers, observed }: Input,
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
