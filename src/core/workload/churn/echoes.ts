import { canonicalHash } from '../../../platform/base/canonical-hash.ts'
import type { SpecDifference } from './difference.ts'
import { databagLeaves, stringLeaves } from './string-leaves.ts'

/** The data of a peer, with its name for messages. */
export type RemoteDatabag = { readonly application: string; readonly data: unknown }

/** The limit of values, because a databag may be hostile. */
const MOST_VALUES = 1_000

/** The shortest value that counts. Shorter ones occur everywhere. */
const SHORTEST = 4

/** Finds the places that copied a value from a peer's databag, with the peer's name. */
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

/** Hashes the databags of applications, to detect later changes. */
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
