import type { Databag, Relation } from '../../core/state/relation.ts'
import { printValue } from '../../platform/base/printed.ts'

/** Formats a unit's name for messages. It comes from input. */
export const unitTitle = (unit: string): string => (/^[-\w/]{1,80}$/.test(unit) ? unit : printValue(unit))

/** Lists the peer's units with their databags, by unit number. */
export const remoteUnits = ({ remote }: Relation): [unit: string, databag: Databag][] =>
  Object.entries(remote.units ?? {}).toSorted(([one], [other]) => compareUnits(one, other))

/** Compares units, with `worker/2` before `worker/10`. */
export const compareUnits = (one: string, other: string): number => (orderOf(one) < orderOf(other) ? -1 : 1)

const orderOf = (unit: string): string => {
  const slash = unit.lastIndexOf('/') + 1
  const number = unit.slice(slash)
  return /^\d{1,15}$/.test(number) ? `${unit.slice(0, slash)}${number.padStart(15, '0')} ${unit}` : unit
}
