/** The limit of edits between a misspelt name and a known one. */
const MOST_EDITS = 2

/** Finds the known name nearest to a misspelt one. Returns undefined if none is near. */
export const nearestName = (name: string, names: readonly string[]): string | undefined => {
  const wanted = name.toLowerCase()
  const [best] = names
    .map((each) => ({ each, edits: distance(wanted, each.toLowerCase()) }))
    .toSorted((one, other) => one.edits - other.edits)
  // two letters would be most of a short name
  return best && best.edits <= Math.min(MOST_EDITS, Math.floor(name.length / 3)) ? best.each : undefined
}

/** The edit distance: letters inserted, removed or replaced. See https://en.wikipedia.org/wiki/Levenshtein_distance */
const distance = (one: string, other: string): number => {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1]
    for (const [column, second] of [...other].entries()) {
      const exchanged = Number(previous[column]) + (letter === second ? 0 : 1)
      current.push(Math.min(exchanged, Number(previous[column + 1]) + 1, Number(current[column]) + 1))
    }
    previous = current
  }
  return Number(previous.at(-1))
}
