import type * as z from 'zod'
import { joinOr, printValue } from './printed.ts'

/** The limit of edits between a misspelt name and a known one. */
const MOST_EDITS = 2

/** Finds the known name nearest to a misspelt one. Returns undefined if none is near. */
export const nearestName = (name: string, names: readonly string[]): string | undefined => {
  const wanted = name.toLowerCase()
  const [best] = names
    .map((each) => ({ each, edits: distance(wanted, each.toLowerCase()) }))
    .toSorted((one, other) => one.edits - other.edits)
  return best && best.edits <= mostEdits(Math.min(name.length, best.each.length)) ? best.each : undefined
}

/** Two letters would be most of a short name. */
const mostEdits = (length: number): number => Math.min(MOST_EDITS, Math.round(length / 3))

/**
 * Names the unknown keys of a strict object, and the known ones that are near: `Unrecognized key: "port", did you mean ports?`. A parse takes it as its
 * `error`. Other problems keep their own message.
 */
export const suggestKeys: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'unrecognized_keys') return undefined
  const { keys, inst } = issue
  const known = Object.keys((inst as z.ZodObject | undefined)?.shape ?? {})
  const near = new Set(keys.flatMap((key) => nearestName(key, known) ?? []))
  const named = `Unrecognized key${keys.length > 1 ? 's' : ''}: ${keys.map(printValue).join(', ')}`
  return near.size === 0 ? named : `${named}, did you mean ${joinOr([...near])}?`
}

/** The edit distance: letters inserted, removed, replaced, or exchanged with the next one. See https://en.wikipedia.org/wiki/Damerau–Levenshtein_distance */
const distance = (one: string, other: string): number => {
  let before: number[] = []
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1]
    for (const [column, second] of [...other].entries()) {
      const replaced = Number(previous[column]) + (letter === second ? 0 : 1)
      const isExchanged = column > 0 && letter === other[column - 1] && second === one[row - 1]
      const exchanged = isExchanged ? Number(before[column - 1]) + 1 : replaced
      current.push(Math.min(replaced, exchanged, Number(previous[column + 1]) + 1, Number(current[column]) + 1))
    }
    before = previous
    previous = current
  }
  return Number(previous.at(-1))
}
