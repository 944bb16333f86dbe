import type { Difference } from './difference.ts'
import { textsIn, textsInDatabags } from './string-leaves.ts'

/** The data of a relation's remote application, by its name in messages. */
export type RemoteDatabag = { readonly application: string; readonly data: unknown }

/** Limits hostile databags. */
const MOST_VALUES = 1_000

/** Shorter values occur everywhere. */
const SHORTEST = 4

/** The places that copied a value of another application's databag, with that application's name. */
export const echoesIn = (
  places: readonly Difference[],
  databags: readonly RemoteDatabag[],
): ReadonlyMap<string, string> => {
  const all = textIn(places.map(({ after }) => after))
  const told = databags.map(({ application, data }) => {
    const values = [...new Set(textsInDatabags(data))].filter(({ length }) => length >= SHORTEST)
    return { application, values: values.slice(0, MOST_VALUES).filter((value) => all.includes(value)) }
  })
  return new Map(
    places.flatMap((place) => {
      const source = told.find(({ values }) => hasTakenOver(place, values))
      return source ? [[place.path, source.application] as const] : []
    }),
  )
}

const hasTakenOver = ({ before, after }: Difference, values: readonly string[]): boolean => {
  const [had, has] = [textIn(before), textIn(after)]
  return values.some((value) => has.includes(value) && !had.includes(value))
}

const textIn = (value: unknown): string =>
  textsIn(value)
    .map(({ text }) => text)
    .join('\n')
