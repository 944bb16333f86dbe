import { ownValue } from '../base/own-value.ts'
import { ENROLMENT_LABEL } from '../istio/names.ts'
import type { EffectiveState } from '../state/state.ts'
import { MESH_KEYS } from './foreign-labels.ts'
import { relationsWith } from './select.ts'

/**
 * Selects the labels, of those that a coordinator `held`, that lead some worker to a waypoint yet. The beacon knows the workers by their
 * coordinator alone.
 */
export const labelsHandedOn = (
  held: Readonly<Record<string, string>>,
  { relations }: Pick<EffectiveState, 'relations'>,
): Record<string, string> => {
  const workers = relationsWith(relations, { interface: 'cluster', role: 'provides' })
  const isWorn = ([key, value]: [string, string]): boolean =>
    workers.some(({ isUnknown, labels = {} }) => isUnknown || ownValue(labels, key) === value)
  const isLeading = ([key]: [string, string]): boolean => MESH_KEYS.includes(key) && key !== ENROLMENT_LABEL
  return Object.fromEntries(Object.entries(held).filter((label) => isLeading(label) && isWorn(label)))
}
