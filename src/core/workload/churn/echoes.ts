import { canonicalHash } from '../../../platform/base/canonical-hash.ts'
import type { SpecDifference } from './difference.ts'
import { databagLeaves, stringLeaves } from './string-leaves.ts'

/** The data of a relation's remote application, by its name in messages. */
export type RemoteDatabag = { readonly application: string; readonly data: unknown }

/** Limits hostile databags. */
const MOST_VALUES = 1_000

/** Shorter values occur everywhere. */
const SHORTEST = 4

/** The places that copied a value of another application's databag, with that application's name. */
export const findEchoes = (
  places: readonly SpecDifference[],
  databags: readonly RemoteDatabag[],
): ReadonlyMap<string, string> => {
  const all = joinedText(places.map(({ after }) => after))
  const told = databags.map(({ application, data }) => {
    const values = [...new Set(databagLeaves(data))].filter(({ length }) => length >= SHORTEST)
    return { application, values: values.slice(0, MOST_VALUES).filter((value) => all.includes(value)) }
  })
  return new Map(
    places.flatMap((place) => {
      const source = told.find(({ values }) => hasTakenOver(place, values))
      return source ? [[place.path, source.application] as const] : []
    }),
  )
}

/** Hashes the databags of applications, to tell whether they have changed since. */
export const hashDatabags = (
  databags: readonly RemoteDatabag[],
  applications: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...new Set(applications)].map((name) => [
      name,
      canonicalHash(databags.flatMap(({ application, data }) => (application === name ? [data] : []))),
    ]),
  )

const hasTakenOver = ({ before, after }: SpecDifference, values: readonly string[]): boolean => {
  const [had, has] = [joinedText(before), joinedText(after)]
  return values.some((value) => has.includes(value) && !had.includes(value))
}

const joinedText = (value: unknown): string =>
  stringLeaves(value)
    .map(({ text }) => text)
    .join('\n')
