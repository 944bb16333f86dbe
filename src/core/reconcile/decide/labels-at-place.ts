import { ownValue } from '../../../platform/base/own-value.ts'
import { type LabelLocation, readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import type { SeenLabels, WantedLabels } from '../../../platform/kubernetes/label-difference.ts'
import { fieldManager } from '../../../platform/kubernetes/ownership-labels.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import { mayBeForeign } from '../../relations/mesh-labels.ts'
import { isConfigUnknown } from '../../state/state.ts'
import { labelsOfWorkload, readHeld } from '../../workload/pod-labels.ts'
import type { Difference } from './operation.ts'
import type { Situation } from './situation.ts'

export type Wanted = Pick<DesiredLabels, 'labels' | 'unknown'>

/** No labels at all. */
export const RELEASED: Wanted = { labels: {}, unknown: [] }

export const isService = ({ object }: LabelLocation): boolean => object.kind === 'Service'

/** Returns what is desired at one place. Some labels there may have to stay, and some of others may be ours to remove. */
export const wantedAt = (situation: Situation, place: LabelLocation, { labels, unknown }: Wanted): WantedLabels => {
  const { subject, state, observed } = situation
  const { kind, metadata } = place.object
  const isOfLibrary = observed.targets.library.some((target) => target.kind === kind && target.name === metadata.name)
  return {
    labels,
    unknown:
      unknown === 'all' ? unknown : [...unknown, ...unexplained(situation, place), ...keptForPods(situation, place)],
    inherited: { ...(isOfLibrary && state.libraryLabels), ...labelsOfWorkload(subject.application, place) },
  }
}

/** Lists our labels that no relation can have requested, so that the config must explain them. Empty if the config is known. */
export const unexplained = ({ subject: { application }, state }: Situation, place: LabelLocation): string[] => {
  if (!isConfigUnknown(state)) return []
  const { labels, holders } = readHeld(application, place)
  return [...holders.own].filter((key) => !mayBeForeign(application, key, ownValue(labels, key) ?? ''))
}

/** Lists the labels of a Service that must stay until its pods have lost theirs: these pods accept only the waypoint that the Service leads to. */
const keptForPods = ({ subject: { application }, waitForPods }: Situation, place: LabelLocation): string[] =>
  waitForPods !== undefined && isService(place) ? [...readLabels(place, fieldManager(application)).holders.own] : []

/** Tells if one of the labels that we hold changes. */
export const changesAny = (
  keys: readonly string[],
  { labels, holders }: SeenLabels,
  { remove, apply }: Difference,
): boolean =>
  keys.some((key) => {
    const value = holders.own.has(key) ? ownValue(labels, key) : undefined
    return Object.hasOwn(remove, key) || (apply !== undefined && ownValue(apply, key) !== value)
  })
