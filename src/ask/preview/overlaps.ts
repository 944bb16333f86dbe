import { matchesPath } from '../authorization/evaluate/path.ts'

/** Path patterns with a common match, and an example of it. */
type Overlap = { readonly patterns: readonly string[]; readonly value: string }

const TEMPLATE = /(\{\*\*?\})/

const isTemplate = (pattern: string): boolean => TEMPLATE.test(pattern)

/** The limit of work for the patterns of a target, in characters of intermediate results. Realistic policies need a small part of it. */
const MOST_WORK = 2_000_000

type Work = { left: number }

/**
 * Finds the sets of path patterns that one path can match, with such a path for each. A set has templates, `prefix*` and `*suffix`. `isWhole` is false if
 * the limit of work is reached before all are found.
 */
export const overlapsOf = (named: readonly string[]): { overlaps: readonly Overlap[]; isWhole: boolean } => {
  const work = { left: MOST_WORK }
  const wild = named.filter((pattern) => pattern.includes('*'))
  const found = new Map<string, Overlap>()
  const sets = wild.filter(isTemplate).map((pattern) => [pattern])
  for (let set = sets.shift(); set !== undefined && work.left > 0; set = sets.shift())
    for (const other of wild) {
      const patterns = [...new Set([...set, other])].toSorted()
      const key = patterns.join(' ')
      if (patterns.length === set.length || found.has(key)) continue
      const value = commonPath(patterns, named, work)
      if (value === undefined) continue
      found.set(key, { patterns, value })
      sets.push(patterns)
    }
  return { overlaps: [...found.values()], isWhole: work.left > 0 }
}

/** Finds a path that matches all of these patterns, and as few others as possible. */
const commonPath = (patterns: readonly string[], named: readonly string[], work: Work): string | undefined => {
  work.left -= patterns.length
  if (!mayMeet(patterns)) return undefined
  return FILLERS.flatMap((filler) => [false, true].map((mayBeEmpty) => ({ filler, mayBeEmpty, work })))
    .flatMap((leaving) => shortest(patterns.map(stepsOf), leaving) ?? [])
    .filter((path) => patterns.every((pattern) => matchesPath(pattern, path)))
    .toSorted((one, other) => count(named, one) - count(named, other))[0]
}

/** Tells if the literal beginnings of patterns are compatible. Most are not. */
const mayMeet = (patterns: readonly string[]): boolean => {
  const beginnings = patterns.map((pattern) => pattern.replace(/(\{?\*).*/s, ''))
  return beginnings.every((one) => beginnings.every((other) => one.startsWith(other) || other.startsWith(one)))
}

const FILLERS = ['x', 'q', '0']

const count = (named: readonly string[], path: string): number =>
  named.filter((pattern) => matchesPath(pattern, path)).length

/** One character, or any number of characters. A `segment` has no slash, and at least one character. */
type Step = { readonly is: string } | { readonly many: 'segment' | 'path' }

const stepsOf = (pattern: string): Step[] =>
  pattern.split(isTemplate(pattern) ? TEMPLATE : /(\*)/).flatMap((piece): Step[] => {
    if (piece === '{*}') return [{ many: 'segment' }]
    return piece === '{**}' || piece === '*' ? [{ many: 'path' }] : [...piece].map((is) => ({ is }))
  })

/** The filling for wildcards: its character, and the permission to be empty. */
type Leaving = { readonly filler: string; readonly mayBeEmpty: boolean; readonly work: Work }

/** The positions in each pattern that a path has reached. */
type State = { readonly at: readonly ReadonlySet<number>[]; readonly path: string }

/** Finds the shortest path that reaches the end of all patterns. */
const shortest = (
  patterns: readonly (readonly Step[])[],
  { filler, mayBeEmpty, work }: Leaving,
): string | undefined => {
  const letters = [...new Set([filler, '/', ...patterns.flat().flatMap((step) => ('is' in step ? [step.is] : []))])]
  const skip = (steps: readonly Step[], places: readonly number[]) =>
    new Set(mayBeEmpty ? places.flatMap((place) => skipped(steps, place)) : places)
  const lead = ({ at, path }: State, letter: string): State => ({
    at: at.map((places, index) => skip(patterns[index] ?? [], after(patterns[index] ?? [], places, letter))),
    path: `${path}${letter}`,
  })
  const isEnd = ({ at }: State) => at.every((places, index) => places.has(patterns[index]?.length ?? 0))
  const seen = new Set<string>()
  const isNew = ({ at }: State): boolean => {
    const key = at.map((places) => [...places].join()).join(' ')
    work.left -= key.length
    return at.every(({ size }) => size > 0) && !seen.has(key) && seen.add(key).size > 0
  }
  let states = [lead({ at: patterns.map((steps) => skip(steps, [0])), path: '' }, '/')]
  while (states.length > 0 && work.left > 0) {
    const end = states.find(isEnd)
    if (end) return end.path
    states = states.flatMap((state) => letters.map((letter) => lead(state, letter)).filter(isNew))
  }
  return undefined
}

/** Lists a position, and the positions behind it that an empty wildcard reaches. */
const skipped = (steps: readonly Step[], place: number): number[] => {
  const step = steps[place]
  return step && 'many' in step && step.many === 'path' ? [place, ...skipped(steps, place + 1)] : [place]
}

/** Lists the positions in a pattern that one more letter reaches. */
const after = (steps: readonly Step[], places: ReadonlySet<number>, letter: string): number[] =>
  [...places].flatMap((place) => {
    const step = steps[place]
    if (step === undefined || !takes(step, letter)) return []
    return 'many' in step ? [place, place + 1] : [place + 1]
  })

const takes = (step: Step, letter: string): boolean =>
  'is' in step ? step.is === letter : step.many === 'path' || letter !== '/'
