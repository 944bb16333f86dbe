import { createHash } from 'node:crypto'

/** As many of the cases as asked for, in their order: the same for the same seed, and mostly the same when a few cases are added. */
export const sampleOf = <T>(
  cases: readonly T[],
  size: number,
  seed: number,
  name: (one: T) => string,
): readonly T[] => {
  const lot = (one: T): string =>
    createHash('sha256')
      .update(`${seed} ${name(one)}`)
      .digest('hex')
  const drawn = cases.map((one) => ({ one, lot: lot(one) })).toSorted((a, b) => (a.lot < b.lot ? -1 : 1))
  const chosen = new Set(drawn.slice(0, size).map(({ one }) => one))
  return cases.filter((one) => chosen.has(one))
}

/** A file of tests that reach a mutant, and how many mutants it reaches in all. */
export type Reaching = { readonly file: string; readonly reached: number }

const folders = (file: string): readonly string[] => file.split('/').slice(1, -1)

/** The number of folders that a test shares with a source: `test/` has the folders of `src/`. */
const shared = (test: string, source: string): number => {
  const [one, other] = [folders(test), folders(source)]
  const first = one.findIndex((folder, index) => folder !== other[index])
  return first === -1 ? one.length : first
}

/** The tests of a mutant: the nearest first, then those that reach the fewest, which are about it; the same ones on any machine. */
export const nearestTests = (source: string, tests: readonly Reaching[], most: number): string[] =>
  tests
    .toSorted(
      (a, b) => shared(b.file, source) - shared(a.file, source) || a.reached - b.reached || (a.file < b.file ? -1 : 1),
    )
    .slice(0, most)
    .map(({ file }) => file)
