const { TESTS = 'quick' } = process.env

/** `npm run test:all` runs every case; `npm test` a tenth of those of a property, and some of those of a table. */
export const isWhole = TESTS !== 'quick'

const FEWEST = 3

/** The number of runs of a property. */
export const runs = (whole: number): number => (isWhole ? whole : Math.max(FEWEST, Math.ceil(whole / 10)))

/** Selects every nth of the cases. */
export const some = <T>(cases: readonly T[], nth: number): readonly T[] =>
  isWhole ? cases : cases.filter((_, index) => index % nth === 0)

/** More than this many of all cases mean something; a part of them need not have any. */
export const least = (whole: number): number => (isWhole ? whole : -1)
