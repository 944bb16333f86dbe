import type { Difference } from './difference.ts'
import type { InputChange, SpecInputs } from './inputs.ts'
import { textsIn, textsInDatabags } from './texts.ts'

/** Of hostile databags these are enough. */
const MOST_VALUES = 1_000

/** The places that may be part of a loop: all when no input changed, those with an application's values when only its databags did. */
export const suspectsIn = (
  places: readonly Difference[],
  change: InputChange,
  { relations }: SpecInputs,
): readonly Difference[] => {
  if (change === 'nothing') return places
  if (change === 'something') return []
  const databags = Object.values(relations).filter(({ application }) => application === change.application)
  const values = textsInDatabags(databags.map(({ data }) => data)).filter(isTelling)
  const all = textIn(places.map(({ after }) => after))
  const found = [...new Set(values)].slice(0, MOST_VALUES).filter((value) => all.includes(value))
  return places.filter((place) => hasTakenOver(place, found))
}

/** Short values are everywhere. */
const isTelling = (value: string): boolean => value.length >= 4

const hasTakenOver = ({ before, after }: Difference, values: readonly string[]): boolean => {
  const [had, has] = [textIn(before), textIn(after)]
  return values.some((value) => has.includes(value) && !had.includes(value))
}

const textIn = (value: unknown): string =>
  textsIn(value)
    .map(({ text }) => text)
    .join('\n')
