import { ownValue } from '../../../platform/base/own-value.ts'
import type { LabelLocation } from '../../../platform/kubernetes/apply-labels.ts'
import type { SeenLabels, WantedLabels } from '../../../platform/kubernetes/label-difference.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import { labelsOfWorkload } from '../../workload/pod-labels.ts'
import type { Difference } from './operation.ts'
import type { Situation } from './situation.ts'
import { keysThatStay } from './stays.ts'

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
    unknown: unknown === 'all' ? unknown : [...unknown, ...keysThatStay(situation, place)],
    inherited: { ...(isOfLibrary && state.libraryLabels), ...labelsOfWorkload(subject.application, place) },
  }
}

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
