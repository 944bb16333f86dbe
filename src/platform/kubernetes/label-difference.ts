import { ownValue } from '../base/own-value.ts'
import type { FieldManagers } from './field-managers.ts'

/** The current labels of one object, and their field managers. */
export type SeenLabels = { readonly labels: Readonly<Record<string, string>>; readonly holders: FieldManagers }

/** The desired labels of one object. */
export type WantedLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly unknown: 'all' | readonly string[]
  /** Labels that the charm library recorded with their values. We may remove them under any field manager. */
  readonly inherited: Readonly<Record<string, string>>
}

/** A key that another field manager holds with another value. */
export type LabelConflict = {
  readonly key: string
  readonly manager: string
  readonly value: string
  readonly wanted: string
}

export type LabelDifference = {
  /** Inherited labels to remove, with the value they must still have. */
  readonly remove: Readonly<Record<string, string>>
  /** All labels that our field manager is to hold, or undefined if it already holds exactly these. */
  readonly apply: Readonly<Record<string, string>> | undefined
  readonly conflicts: readonly LabelConflict[]
}

/** Computes the write that gives an object the desired labels. Labels of other field managers are never touched. */
export const labelDifference = (seen: SeenLabels, wanted: WantedLabels): LabelDifference => {
  const { hold, conflicts } = labelsToHold(seen, wanted)
  const remove = Object.fromEntries(
    Object.entries(wanted.inherited)
      .filter(([key, value]) => ownValue(seen.labels, key) === value)
      .filter(([key, value]) => ownValue(wanted.labels, key) !== value && !isUnknown(wanted, key)),
  )
  return { remove, apply: isHeld(seen, hold, remove) ? undefined : hold, conflicts }
}

/** Computes the labels that we are to hold: the desired ones without those of others, and our current ones that may still be desired. */
export const labelsToHold = (
  seen: SeenLabels,
  wanted: WantedLabels,
): Pick<LabelDifference, 'conflicts'> & { readonly hold: Readonly<Record<string, string>> } => {
  const conflicts = conflictsOf(seen, wanted)
  const refused = new Set(conflicts.map(({ key }) => key))
  const hold = Object.fromEntries([
    ...Object.entries(wanted.labels).filter(([key]) => !refused.has(key)),
    ...Object.entries(seen.labels).filter(([key]) => seen.holders.own.has(key) && isUnknown(wanted, key)),
  ])
  return { hold, conflicts }
}

/** Tells if it is unknown if a label is desired. */
export const isUnknown = ({ labels, unknown }: Pick<WantedLabels, 'labels' | 'unknown'>, key: string): boolean =>
  ownValue(labels, key) === undefined && (unknown === 'all' || unknown.includes(key))

const conflictsOf = ({ labels: seen, holders }: SeenLabels, { labels, inherited }: WantedLabels): LabelConflict[] =>
  Object.entries(labels).flatMap(([key, wanted]) => {
    const value = ownValue(seen, key)
    const others = holders.others.get(key) ?? []
    const isOurs = holders.own.has(key) && others.length === 0
    if (value === undefined || value === wanted || value === ownValue(inherited, key) || isOurs) return []
    return [{ key, manager: others.join(', ') || 'unknown', value, wanted }]
  })

const isHeld = (
  { labels, holders }: SeenLabels,
  hold: Readonly<Record<string, string>>,
  removed: Readonly<Record<string, string>>,
): boolean =>
  [...holders.own].filter((key) => !Object.hasOwn(removed, key)).length === Object.keys(hold).length &&
  Object.entries(hold).every(([key, value]) => holders.own.has(key) && ownValue(labels, key) === value)
